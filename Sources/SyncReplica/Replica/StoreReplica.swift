import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// A tracked database as one replica of its store: sends and merges batches, and keeps the conflict
/// log.
///
/// Beside the ``Store`` that records history; both may be open on one file, also in several
/// processes. Every call first states what writers have committed meanwhile, in the same
/// transaction as what it does itself: the state before, or the state after, whatever happens.
///
/// Thread-safe. Every method blocks on SQLite. Objects are named alike on all replicas; private
/// integer keys are each replica's own.
public final class StoreReplica: Sendable {
    /// Where the file is, as it was given.
    public let path: String
    /// The family of replicas that it belongs to.
    public var storeID: StoreID { local.id }
    /// This copy's name.
    public var replicaID: ReplicaID { local.replica }

    private let local: Store
    private let connection: MergeConnection

    /// Opens a tracked database for merging. A file that was copied becomes a replica of its own.
    /// - Throws: ``SyncError``: as ``Store/open(_:)``; `cannotTrack` when its schema has something
    ///   that cannot be merged.
    public convenience init(_ path: String) throws {
        try self.init(path, isResolved: false)
    }

    /// - Parameter isResolved: as in ``Store/open(_:isResolved:)``.
    package convenience init(_ path: String, isResolved: Bool) throws {
        try self.init(
            path, isResolved: isResolved, wall: { Timestamp.now().milliseconds })
    }

    /// - Parameters:
    ///   - wall: the clock, milliseconds since 1970: a parameter, so that a test can set it.
    ///   - driftMax: how far a peer's clock may be ahead before it is contained.
    ///   - isVerifying: whether every step is checked against the whole store: slow.
    package init(
        _ path: String, isResolved: Bool = false, wall: @escaping @Sendable () -> Int64,
        driftMax: Duration = HybridClock.driftMax, isVerifying: Bool = false
    ) throws {
        self.path = path
        let local = try Store.open(path, isResolved: isResolved)
        self.local = local
        do {
            let environment = MergeEnvironment(
                boundaries: {
                    try local.live.withState { _, live in try live.pendingBoundaries() }
                },
                wall: wall, driftMax: driftMax, isVerifying: isVerifying)
            connection = MergeConnection(
                try StoreConnection.openQueue(path, expecting: .file(local.file)),
                local.identity, environment)
        } catch {
            throw StoreConnection.explain(error, path: path, operation: "open")
        }
    }

    /// Closes the connections. The replica is of no use afterwards.
    public func close() throws {
        try connection.close()
        try local.close()
    }

    func run<Result>(
        _ operation: String, _ body: (MergeSession) throws -> Result
    ) throws -> Result {
        try Store.explaining(path, operation) { try connection.withSession(body) }
    }

    // MARK: Conflicts

    /// The conflict log, oldest first.
    /// - Parameter open: true: what is open; false: what was closed; nil: all.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    /// - Complexity: O(conflicts)
    public func conflicts(open: Bool? = true) throws -> [MergeConflict] {
        try run("conflicts") { session in
            try session.transact { work in
                try ConflictReader(session.connection, work.prepared).conflicts(open: open)
            }
        }
    }

    /// Ends a conflict in favour of one side, as a transaction of its own, which other replicas
    /// merge like any other.
    /// - Parameters:
    ///   - id: ``MergeConflict/id``.
    ///   - author: who decides, for history.
    /// - Throws: ``SyncError``: `invalidArgument` when it is not open; `refused` when a delete
    ///   cannot be repeated, because rows refer to the object.
    public func resolve(
        _ id: Int64, keeping choice: MergeConflict.Choice, author: String? = nil
    ) throws {
        try run("conflicts") { session in
            try session.transact { work in
                try work.resolve(try work.version(ofConflict: id), choice, author: author)
            }
        }
    }

    /// Makes what is shown now the truth: every open conflict is closed, and no repair will be
    /// taken back by what arrives later. The tables do not change.
    /// - Parameter author: who decides, for history.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    public func settle(author: String? = nil) throws {
        try run("conflicts") { session in
            try session.transact { try $0.close(author: author) }
        }
    }

    // MARK: Policies

    /// What the owner chose for merging.
    public func policies() throws -> MergePolicies {
        try run("policies") { try $0.policies() }
    }

    /// Makes the store ready to be merged.
    /// - Throws: `cannotTrack` when the schema has something that cannot be merged.
    package func prepare() throws {
        try run("check") { session in try session.transact { _ in } }
    }

    /// Compares the tables with what was stated and merged, where somebody may have written without
    /// being recorded, and records what differs as one transaction flagged `recovered`. Every
    /// other call does the same; this one says how many changes there were.
    /// - Throws: ``SyncError``: `refused` for a change of the schema that needs a decision.
    package func recordMissed() throws -> Int {
        try run("compare") { session in
            try session.transact { _ in session.missedCount }
        }
    }

    /// The tables that nobody has chosen to leave out, and that are not recorded nor synchronised.
    /// - Complexity: O(columns of the schema)
    package func unrecordedTables() throws -> [String] {
        try run("check") { session in
            try RawTransaction.read(session.connection) {
                try session.tracker.unrecordedTables(session.database)
            }
        }
    }

    /// Chooses how entities merge. The choice travels with what is sent, and every replica that
    /// merges it shows its tables by it; of two choices the one made later counts
    /// (``MergePolicies/revision``).
    /// - Throws: ``SyncError``: `invalidArgument` for tables and columns that are not there, or
    ///   that cannot merge so; `refused` for identities, references and whole rows once the store
    ///   was sent or merged.
    /// - Complexity: O(rows of the store)
    public func setPolicies(_ policies: MergePolicies) throws {
        try run("policies") { try $0.setPolicies(policies) }
    }
}

// MARK: Inspection

extension StoreReplica {
    /// The identity of each row of the tables.
    package func names() throws -> [RowKey: ObjectUID] {
        try run("inspect") { session in
            try session.transact { try RegionLoader.whole($0.prepared).names }
        }
    }

    /// What is current and not shown.
    package func openConflicts() throws -> Set<VersionID> {
        try run("inspect") { session in
            try session.transact { Set(try $0.openConflicts().keys) }
        }
    }
}

// MARK: Replica

extension StoreReplica: Replica {
    package var store: StoreID { storeID }

    package var id: ReplicaID { replicaID }

    package var vector: VersionVector {
        get throws {
            try run("vector") { session in
                try session.transact { try $0.prepared.headers.vector() }
            }
        }
    }

    package func batches(since: VersionVector) throws -> [[UInt8]] {
        try batches(since: since, factsMax: OutgoingBatches.factsMax)
    }

    /// - Parameter factsMax: facts in one batch, unless one transaction has more.
    package func batches(since: VersionVector, factsMax: Int) throws -> [[UInt8]] {
        try run("push") { session in
            try session.transact { work in
                let policies = work.prepared.policies
                let batches = try OutgoingBatches(work.prepared, session.identity).batches(
                    since: since, schema: try session.schemaStatements(work.schema),
                    policies: policies == MergePolicies() ? "" : try policies.json(),
                    factsMax: factsMax)
                let own = session.identity.replica
                if let newest = batches.map({ $0.upTo[own] }).max() { try work.noteSent(newest) }
                return batches
            }
        }.map(BatchEncoder.encode)
    }

    /// A large batch is merged in slices, each a transaction: writers come in between, and what was
    /// merged when something fails stays.
    package func merge(_ batch: [UInt8]) throws -> Bool { try merge(batch, isAlone: false) }

    /// - Parameter isAlone: nobody else can know of the file yet.
    func merge(_ batch: [UInt8], isAlone: Bool) throws -> Bool {
        let batch = try BatchDecoder.decode(batch)
        let policies = try MergePolicies(batch: batch)
        guard batch.store == storeID else {
            throw SyncError(
                .refused, "the batch belongs to another store", operation: "pull", path: path,
                hint: "Stores that were tracked apart cannot be merged: clone one of them")
        }
        return try run("pull") { session in
            try session.widenCache()
            defer { session.narrowCache() }
            var slices = BatchSlices(batch)
            var pace = MergePace(isAlone: isAlone)
            var start = ContinuousClock.now
            while let slice = slices.next(factsMax: pace.factsMax) {
                guard try session.transact(adopting: policies, { try $0.merge(slice) }) else {
                    return false
                }
                guard !slices.isAtEnd else { return true }
                pace.rest(after: ContinuousClock.now - start)
                start = .now
            }
            return true
        }
    }
}

// MARK: Own transactions

extension StoreReplica {
    package var sent: Int64? {
        get throws {
            try run("push") { session in
                guard case .integer(let number) = try Settings(session.connection).value(.sent)
                else { return nil }
                return number
            }
        }
    }

    package func noteSent(_ number: Int64) throws {
        try run("push") { session in try session.transact { try $0.noteSent(number) } }
    }

    package func foreignNumber(in batch: [UInt8]) throws -> Int64? {
        let batch = try BatchDecoder.decode(batch)
        return try run("pull") { session in
            try session.transact { work in
                let own = session.identity.replica
                let foreign = try work.foreignNumber(in: batch)
                let written = batch.transactions.map(\.header.dot)
                    .filter { $0.replica == own && $0.number < foreign ?? .max }
                if let newest = written.map(\.number).max() { try work.noteSent(newest) }
                return foreign
            }
        }
    }

    /// Makes this file another replica, after it was put back to an earlier state with its
    /// identity: what was sent before keeps its name, what was written since and never sent is
    /// renamed (``ReplicaRenewal``).
    ///
    /// This object is of no use afterwards, and neither is any other that has the file open.
    /// - Returns: the new name.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    /// - Complexity: O(objects)
    public func renewIdentity() throws -> ReplicaID {
        try run("renew") { session in
            guard try ReplicationTables.exist(session.connection) else {
                return try RawTransaction.write(session.connection) {
                    try Store.becomeNew(session.connection, Settings(session.connection))
                }
            }
            return try session.transact { try ReplicaRenewal($0).run() }
        }
    }
}
