import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// A tracked database as one replica of its store: sends and merges batches, and keeps the conflict
/// log.
///
/// Used beside the ``Store`` that records history; both may be open on one file, in several
/// processes, too. Every call first records what writers have committed meanwhile, in the same
/// transaction as its own work: a call that fails changes nothing.
///
/// Thread-safe. Every method blocks on SQLite. Objects have the same identity on all replicas;
/// private integer keys differ.
public final class StoreReplica: Sendable {
    /// The path of the file, as it was given.
    public let path: String
    /// The family of replicas that it belongs to.
    public var storeID: StoreID { local.id }
    /// The identifier of this copy.
    public var replicaID: ReplicaID { local.replica }
    /// The open file.
    package var file: FileIdentity { local.file }

    private let local: Store
    private let connection: MergeConnection
    private let environment: MergeEnvironment
    /// How its merges leave room for writers.
    private let pace = MergePace()

    /// Opens a tracked database for merging. A file that was copied becomes a replica of its own.
    /// - Throws: ``SyncError``: as ``Store/open(_:)``; `cannotTrack` when its schema has something
    ///   that cannot be merged.
    public convenience init(_ path: String) throws {
        try self.init(path, isResolved: false)
    }

    /// - Parameter isResolved: as in ``Store/open(_:isResolved:)``.
    /// - Throws: as ``init(_:)``.
    package convenience init(_ path: String, isResolved: Bool) throws {
        try self.init(
            path, isResolved: isResolved, wall: { Timestamp.now().milliseconds })
    }

    /// - Parameters:
    ///   - isResolved: as in ``Store/open(_:isResolved:)``.
    ///   - wall: the clock, milliseconds since 1970: a parameter, so that a test can set it.
    ///   - driftMax: how far a peer's clock may be ahead before it is contained.
    ///   - isVerifying: whether every step is checked against the whole store: slow.
    ///   - mayDangle: whether writers may refer to rows that are not there, for these checks.
    ///   - isGeneral: whether everything is computed by regions and views.
    ///   - isCheckingLane: whether the rules of the fast lane are checked at each merge.
    ///   - usesLane: whether plain objects are merged by the fast lane.
    ///   - usesLocalLane: whether what was written here is stated row by row where that is
    ///     possible.
    ///   - olderRowsMax: rows in one transaction of those that state what is older than history;
    ///     nil: as many as usual.
    ///   - batchFactsMax: facts in one batch that is sent; nil: as many as usual.
    ///   - windowMax: changes that the local lane has in memory; nil: as many as usual.
    ///   - leftRowsMax: as in ``SyncCore/LiveLog/settleBeforeWriting(leaving:)``.
    ///   - partition: which local transactions are several for others; nil: those as usual.
    /// - Throws: as ``init(_:)``.
    package init(
        _ path: String, isResolved: Bool = false, wall: @escaping @Sendable () -> Int64,
        driftMax: Duration = HybridClock.driftMax, isVerifying: Bool = false,
        mayDangle: Bool = false, isGeneral: Bool = false, isCheckingLane: Bool = false,
        usesLane: Bool = LaneUse.isFastByDefault,
        usesLocalLane: Bool = LaneUse.isLocalByDefault, olderRowsMax: Int? = nil,
        batchFactsMax: Int? = nil, windowMax: Int? = nil, leftRowsMax: Int64 = LiveLog.leftRowsMax,
        partition: PartitionLimits? = nil
    ) throws {
        self.path = path
        // A merge finds by itself what was written past the triggers (``MissedChanges``).
        let local = try Store.open(path, isResolved: isResolved, isMending: false)
        self.local = local
        do {
            var environment = MergeEnvironment(
                settle: {
                    try local.live.withState { _, live in
                        try live.settleBeforeWriting(leaving: leftRowsMax)
                    }
                },
                boundaries: {
                    try local.live.withState { _, live in try live.boundariesForWriting() }
                },
                endWriting: { try? local.live.withState { _, live in live.endWriting() } },
                wall: wall, driftMax: driftMax, isVerifying: isVerifying, isGeneral: isGeneral,
                usesLane: usesLane, isCheckingLane: isCheckingLane)
            environment.mayDangle = mayDangle
            environment.usesLocalLane = usesLocalLane
            if let olderRowsMax { environment.olderRowsMax = olderRowsMax }
            if let batchFactsMax { environment.batchFactsMax = batchFactsMax }
            if let windowMax { environment.windowMax = windowMax }
            if let partition { environment.partition = partition }
            self.environment = environment
            connection = try MergeConnection(
                to: path, file: local.file, identity: local.identity, environment: environment)
        } catch {
            throw Store.explained(error, path: path, operation: "open")
        }
    }

    /// Closes the connections. The replica cannot be used afterwards.
    /// - Throws: SQLite errors.
    public func close() throws {
        try connection.close()
        try local.close()
    }

    /// What was recorded and merged since the replica was opened.
    public var tally: MergeTally { environment.tally.tally }

    /// The keys of the store.
    /// - Throws: as ``Store/keyRing()``.
    package func keyRing() throws -> KeyRing { try local.keyRing() }

    /// Runs `body` on the connection's queue.
    /// - Parameter operation: for the error.
    /// - Throws: ``SyncError`` with path and operation.
    func run<Result>(
        _ operation: String, with body: (MergeSession) throws -> Result
    ) throws -> Result {
        try Store.explaining(operation, at: path) { try connection.withSession(body) }
    }

    // MARK: Conflicts

    /// The conflict log, oldest first.
    /// - Parameter open: true: what is open; false: what was closed; nil: all.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(conflicts)
    public func conflicts(open: Bool? = true) throws -> [ConflictRecord] {
        try run("conflicts") { session in
            guard try session.isMerging() else { return [] }
            return try session.transact { try ConflictReader($0.storage).conflicts(open: open) }
        }
    }

    /// Ends a conflict as a person decides, in a transaction of its own, which other replicas merge
    /// like any other.
    /// - Parameters:
    ///   - id: ``ConflictRecord/id``.
    ///   - author: the author of the decision, for history.
    /// - Returns: what was done to the rows.
    /// - Throws: ``SyncError``: `unknownObject` when there is no such conflict; `refused` when it
    ///   is not open, or, with the reason and what to do instead, when the tables cannot show what
    ///   was chosen; `invalidArgument` for values that the conflict is not about. Nothing is
    ///   changed then.
    @discardableResult
    public func resolve(
        _ id: Int64, keeping choice: ConflictRecord.Choice, author: String? = nil
    ) throws -> ConflictOutcome {
        try run("conflicts") { session in
            try session.transact {
                try ConflictResolution($0).resolve(id, keeping: choice, author: author)
            }
        }
    }

    /// Closes all open conflicts in favour of what is shown: no repair is undone by transactions
    /// that arrive later. The tables do not change.
    /// - Parameters:
    ///   - author: the author of the decision, for history.
    ///   - isDeletingHidden: whether rows that are not shown are deleted on all replicas, as what
    ///     is shown says.
    /// - Throws: ``SyncError``: `refused`, with their names, when there are such rows and they are
    ///   not to be deleted; `busy`, and SQLite errors.
    /// - Complexity: O(rows and facts of the store), in memory.
    public func closeConflicts(author: String? = nil, isDeletingHidden: Bool = false) throws {
        try run("conflicts") { session in
            guard try session.isMerging() else { return }
            try session.transact {
                try ConflictClosing($0).closeAll(
                    author: author, isDeletingHidden: isDeletingHidden)
            }
        }
    }

    // MARK: Policies

    /// How the store merges.
    /// - Throws: ``SyncError``: `badData` for policies that cannot be read, and SQLite errors.
    public func policies() throws -> MergePolicies {
        try run("policies") { try $0.policies() }
    }

    /// Creates the tables of merging, and records what writers have committed.
    /// - Throws: `cannotTrack` when the schema has something that cannot be merged.
    package func prepare() throws {
        try run("check") { session in try session.transact { _ in } }
    }

    /// Compares the tables with what is recorded and merged, where changes may not have been
    /// captured, and records what differs as one transaction flagged `recovered`. Every other call
    /// does the same; this one returns how many changes there were.
    /// - Throws: ``SyncError``: `refused` for a change of the schema that needs a decision.
    /// - Complexity: O(rows and facts of the store) where changes may not have been captured.
    package func recordMissed() throws -> Int {
        try run("compare") { session in
            try session.transact { _ in session.missedCount }
        }
    }

    /// When all rows of the tables were last compared with what is recorded; nil: never.
    /// - Throws: ``SyncError``: `busy`, `storeReplaced`.
    package func lastComparison() throws -> Timestamp? { try local.lastComparison() }

    /// The tables that are neither tracked nor excluded.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(columns of the schema)
    package func unrecordedTables() throws -> [String] {
        try run("check") { session in
            try RawTransaction.read(on: session.connection) {
                try session.tracker.unrecordedTables(session.database)
            }
        }
    }

    /// Chooses how entities merge. The policies are sent with each batch, and every replica that
    /// merges it shows its tables by them; of two policies the later one is in force
    /// (``MergePolicies/revision``).
    /// - Throws: ``SyncError``: `invalidArgument` for tables and columns that do not exist, or that
    ///   cannot merge this way; `refused` for identities, references and whole rows once the store
    ///   was sent or merged.
    /// - Complexity: O(rows of the store)
    public func setPolicies(_ policies: MergePolicies) throws {
        try run("policies") { try $0.setPolicies(policies) }
    }
}

// MARK: Inspection

extension StoreReplica {
    /// The identity of each row of the tables.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(rows and facts of the store), in memory.
    package func names() throws -> [RowKey: ObjectUID] {
        try run("inspect") { session in
            try session.transact { try RegionLoader.whole(in: $0.storage).names }
        }
    }

    /// The facts that are current and not shown.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(what is unresolved)
    package func openConflicts() throws -> Set<VersionID> {
        try run("inspect") { session in
            try session.transact { transaction in
                let recording = AuthoredRecording(transaction, author: nil, context: nil)
                return Set(try recording.openConflicts().keys)
            }
        }
    }
}

// MARK: Replica

extension StoreReplica: Replica {
    package var store: StoreID { storeID }

    package var id: ReplicaID { replicaID }

    /// Records what writers have committed, where the store is synchronised: before history is
    /// purged.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(changes)
    package func recordChanges() throws {
        try run("record") { session in
            guard try session.isMerging() else { return }
            try session.transact { _ in }
        }
    }

    /// What this replica has merged.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var vector: VersionVector {
        get throws {
            try run("vector") { session in
                try session.transact { transaction in
                    // An exchange that begins with the vector sends this, too.
                    try SchemaRecording(transaction).mergeConcurrent()
                    return try transaction.storage.headers.vector()
                }
            }
        }
    }

    /// The batches that a replica lacks that has merged a vector, in the order to merge them in.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(what is sent)
    package func batches(since: VersionVector) throws -> [[UInt8]] {
        try batches(since: since, factsMax: environment.batchFactsMax)
    }

    /// The batches that a replica lacks that has merged a vector.
    /// - Parameter factsMax: facts in one batch, unless one transaction has more.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(what is sent)
    package func batches(since: VersionVector, factsMax: Int) throws -> [[UInt8]] {
        try outgoing(since: since, factsMax: factsMax).all()
    }

    /// The batches that a replica lacks that has merged a vector, each made when it is asked for.
    /// They are of this moment: what is written or merged later is not in them.
    /// - Throws: ``SyncError``: `busy`, `diskFull`, and SQLite errors.
    /// - Complexity: O(what is sent); not in memory
    package func outgoing(since: VersionVector) throws -> any BatchSource {
        try outgoing(since: since, factsMax: environment.batchFactsMax)
    }

    private func outgoing(since: VersionVector, factsMax: Int) throws -> OutgoingExtraction {
        try run("push") { session in
            try session.transact { transaction in
                try SchemaRecording(transaction).mergeConcurrent()
                let policies = transaction.storage.policies
                // Beside a snapshot the schema of a replica with other names would mislead, where
                // it does not say what they are names of.
                let known = try transaction.storage.schemas.all()
                let isMisleading =
                    try since.isEmpty && known.newest?.content.names == nil
                    && transaction.settings.isRenamed()
                let outgoing = OutgoingBatches(
                    storage: transaction.storage, identity: session.identity,
                    schema: try session.schemaStatements(of: transaction.schema),
                    schemas: isMisleading ? [] : known,
                    formerSchemas: isMisleading
                        ? [] : try transaction.storage.schemas.formerRecords(),
                    policies: policies == MergePolicies() ? "" : try policies.json(),
                    names: try NameStorage(session.connection).read().foreign
                        .sent(with: transaction.schema.names))
                // Simulations send by way of the temporary file.
                var extraction = try outgoing.extraction(
                    since: since, factsMax: factsMax,
                    rowBytesMax: transaction.environment.partition.rowBytesMax,
                    memoryMax: transaction.environment.isVerifying
                        ? 256 : ScratchStreams.memoryMax)
                if transaction.environment.isVerifying {
                    try OutgoingVerifier(transaction.storage).verify(
                        extraction.frames.indices.map(extraction.made))
                }
                extraction.key = try SignedSending(transaction).prove(&extraction)
                let own = session.identity.replica
                if let newest = extraction.frames.map({ $0.batch.upTo[own] }).max() {
                    try transaction.noteSent(newest)
                }
                return extraction
            }
        }
    }

    /// Merges a batch; merging it again changes nothing. A large batch is merged in slices, each a
    /// transaction: other connections can write in between, and the slices before an error stay
    /// merged.
    /// - Returns: false when the batch starts after what is merged here.
    /// - Throws: ``SyncError``: `badData`, `newerFormat` for bytes that are no batch; `refused` for
    ///   a batch of another store; `notSigned`, `forked`, `impostor`, `notMember` for one that is
    ///   not proved; `busy`, and SQLite errors.
    /// - Complexity: O(facts of the batch, and what is unresolved)
    public func merge(_ batch: [UInt8]) throws -> Bool { try merge(batch, isAlone: false) }

    /// - Parameters:
    ///   - isAlone: whether no other connection can have the file open yet: then there are no
    ///     pauses (``MergePace``).
    ///   - goal: what is merged after the last of the batches that were made together, where that
    ///     is known and the batch does not say it.
    /// - Returns: false when the batch starts after what is merged here.
    /// - Throws: as ``merge(_:)``.
    /// - Complexity: O(facts of the batch, and what is unresolved)
    package func merge(
        _ batch: [UInt8], isAlone: Bool, goal: VersionVector? = nil
    ) throws -> Bool {
        var batch = try BatchDecoder.decode(batch)
        // A slice of it leads no further than the whole.
        batch.goal = goal ?? batch.likelyGoal
        let policies = try MergePolicies(batch: batch)
        guard batch.store == storeID else {
            throw SyncError(
                .refused, "the batch belongs to another store", operation: "pull", path: path,
                hint: "Stores that were tracked separately cannot be merged: clone one of them")
        }
        return try run("pull") { session in
            // One cache for all slices.
            try session.withWideCache {
                var slices = BatchSlices(batch)
                var proved: [ReplicaID: ChainLink] = [:]
                while let slice = slices.next(factsMax: pace.factsMax) {
                    if !isAlone { pace.pause(before: slice.factCount) }
                    let start = ContinuousClock.now
                    let isMerged = try session.transact(adopting: policies) {
                        try BatchMerge($0).merge(slice, proved: &proved)
                    }
                    guard isMerged else { return false }
                    pace.note(slice.factCount, from: start, to: .now)
                }
                return true
            }
        }
    }
}

// MARK: Own transactions

extension StoreReplica {
    /// The newest transaction of this replica that another one may have; nil: unknown.
    /// - Throws: ``SyncError``: SQLite errors.
    package var sent: Int64? {
        get throws {
            try run("push") { session in
                guard case .integer(let number) = try Metadata(session.connection).value(.sent)
                else { return nil }
                return number
            }
        }
    }

    /// Stores that the transactions of this replica up to a number were sent.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package func noteSent(_ number: Int64) throws {
        try run("push") { session in
            try session.transact { try $0.noteSent(number) }
        }
    }

    /// The first transaction of a batch in this replica's name that it did not write; nil: there is
    /// none, or this replica signs and did not sign it. Those before it are stored as sent.
    /// - Throws: ``SyncError``: `badData`, `newerFormat` for bytes that are no batch; SQLite
    ///   errors.
    /// - Complexity: O(transactions of the batch)
    package func foreignNumber(in batch: [UInt8]) throws -> Int64? {
        let batch = try BatchDecoder.decode(batch)
        return try run("pull") { session in
            try session.transact { transaction in
                let own = session.identity.replica
                let transactions = OwnTransactions(transaction)
                let foreign = try transactions.firstForeign(in: batch)
                // A forged batch is refused when it is to be merged.
                if foreign != nil, try transactions.isForged(in: batch) { return nil }
                let written = batch.transactions.map(\.header.dot)
                    .filter { $0.replica == own && $0.number < foreign ?? .max }
                if let newest = written.map(\.number).max() { try transaction.noteSent(newest) }
                return foreign
            }
        }
    }

    /// Gives this file a new replica identifier, after it was restored to an earlier state:
    /// transactions that were sent before keep the old identifier, those that were written since
    /// and never sent get the new one.
    ///
    /// This object cannot be used afterwards, and neither can any other that has the file open.
    /// - Returns: the new identifier.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(objects)
    public func renewIdentity() throws -> ReplicaID {
        try run("renew") { session in
            guard try ReplicationTables.exist(session.connection) else {
                return try RawTransaction.write(on: session.connection) {
                    try Store.becomeNew(
                        on: session.connection, metadata: Metadata(session.connection))
                }
            }
            return try session.transact { try ReplicaRenewal($0).run() }
        }
    }
}
