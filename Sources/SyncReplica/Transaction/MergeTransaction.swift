import GRDB
import SyncCore
import SyncMerge
import SyncStorage

/// One write transaction on a replica: the store's tables, the clock, and the headers that the
/// transaction appends. What is done in it is done by the types of `Region`, `Recording`,
/// `Merging`, `Conflicts` and `Collecting`, which share it.
///
/// Invariants
/// - `clock` only advances. ``finish()`` stores its last reading.
/// - Positions in the merge order ascend by one with each header that is appended.
/// - History is complete up to the newest log row before the first step, so that new transactions
///   get numbers after it.
final class MergeTransaction {
    let storage: ReplicaStorage
    let database: Database
    let identity: StoreIdentity
    let environment: MergeEnvironment
    private var clock: HybridClock
    private var newestPosition: Int64
    /// The newest position when this transaction began.
    private let formerPosition: Int64
    /// The positions of the transactions that were appended or adopted by this one.
    private var positions: [Dot: Int64] = [:]

    var schema: ReplicaSchema { storage.schema }
    var connection: OpaquePointer { storage.connection }
    var settings: Metadata { storage.history.settings }

    /// Moves what is logged to the history tables, in the transaction that the connection is in.
    /// - Throws: SQLite errors; `corrupt` for settings that are out of range.
    init(
        storage: ReplicaStorage, database: Database, identity: StoreIdentity,
        environment: MergeEnvironment, boundaries: [Boundary]
    ) throws {
        self.storage = storage
        self.database = database
        self.identity = identity
        self.environment = environment
        storage.objects.begin()
        try storage.history.digest(boundaries)
        let last = try storage.history.settings.integer(.clock)
        clock = HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: last)))
        newestPosition = try storage.headers.newestPlace()
        formerPosition = newestPosition
    }

    // MARK: Clock and headers

    /// The name and the time of a new transaction of this replica.
    func nextTransaction() -> (dot: Dot, time: HybridTime) {
        let number = storage.history.allocate(1).upperBound
        return (Dot(identity.replica, number), clock.reading(wall: environment.wall()))
    }

    /// The time of a local transaction that was committed at `wall`, milliseconds since 1970.
    func reading(wall: Int64) -> HybridTime { clock.reading(wall: wall) }

    /// The time of the store now, by which the silence of other replicas is judged.
    /// - Throws: SQLite errors.
    func observeClock() throws -> Int64 {
        try StoreClock.observe(
            settings, at: environment.wall(), newest: try LogTable.newest(on: settings.connection)
        ).time
    }

    /// Advances the clock beyond the time of a transaction of another replica.
    func observe(_ time: HybridTime) {
        _ = clock.observe(time, wall: environment.wall(), driftMax: environment.driftMax)
    }

    /// Appends the header of a transaction whose changes name entities of the present schema.
    /// - Throws: SQLite errors.
    func append(_ transaction: Batch.Transaction) throws {
        let details = HeaderDetails.encode(transaction) { self.storage.shapes.number(of: $0) }
        try append(transaction.header, details: details)
    }

    /// Appends a header to the merge order, and moves the vector to it.
    /// - Throws: SQLite errors.
    func append(_ header: TransactionHeader, details: [UInt8]) throws {
        newestPosition += 1
        positions[header.dot] = newestPosition
        try storage.headers.append(header, place: newestPosition, details: details)
    }

    /// The position that the next header gets.
    var nextPosition: Int64 { newestPosition + 1 }

    /// The position in the merge order of the newest of some transactions that this transaction
    /// has appended or that ``resend(_:)`` names; 0 when there is none.
    func position(ofNewest dots: some Sequence<Dot>) -> Int64 {
        dots.compactMap { positions[$0] }.max() ?? 0
    }

    /// Whether this transaction has appended a header: nobody else has that one, not even a copy of
    /// the file.
    func hasAppended(_ dot: Dot) -> Bool { positions[dot].map { $0 > formerPosition } ?? false }

    /// Objects with facts of an earlier transaction are stored as part of it: a replica that lacks
    /// the transaction is to get these facts with it.
    /// - Throws: SQLite errors.
    func resend(_ dot: Dot) throws { positions[dot] = try storage.headers.place(of: dot) }

    // MARK: End

    /// Writes what has to be written last: the clock, and the position up to which history is
    /// recorded as facts.
    /// - Throws: SQLite errors.
    func finish() throws {
        try storage.totals.store()
        try storage.history.finish()
        let clock = Int64(bitPattern: clock.last.rawValue)
        if try settings.integer(.clock) != clock { try settings.set(.clock, to: .integer(clock)) }
        if try settings.position(.stated) < storage.history.head {
            try settings.set(.stated, to: .integer(storage.history.head))
        }
    }
}
