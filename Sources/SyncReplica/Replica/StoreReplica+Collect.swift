import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// How long a replica may be away before collecting does not wait for it: thirty days. After
    /// that it gets a snapshot when it returns; what it wrote meanwhile is merged.
    public static let lease: Duration = PeerStorage.lease

    /// A state with more facts than this is not collected: one snapshot could not hold it.
    private static let factsMax = BatchLimits.factsMax / 2
    /// Objects marked or dropped in one transaction; headers take less.
    private static let sliceCount = 500

    /// Drops what no replica needs any more: deleted objects, and transactions that others
    /// overwrote, which all replicas have merged. Tables, history and conflicts do not change.
    ///
    /// In two phases: an object is dropped when all replicas have merged what was merged here when
    /// the object was dead and nothing referred to it. So one call marks, and a later one drops.
    /// - Parameters:
    ///   - lease: how long a replica may be away before collecting does not wait for it.
    ///   - slice: objects in one transaction, each of some milliseconds.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors. What was dropped before stays
    ///   dropped.
    /// - Complexity: O(facts of the store), beside writers.
    @discardableResult
    public func collect(
        lease: Duration = StoreReplica.lease, slice: Int? = nil
    ) throws -> CollectionReport {
        try run("collect") { session in
            guard try ReplicationTables.exist(session.connection) else {
                return CollectionReport()
            }
            return try CollectionRun(
                session: session, lease: lease.milliseconds,
                slice: slice ?? Self.sliceCount, factsMax: Self.factsMax
            ).run()
        }
    }

    /// Collects unless the last collection was less than `interval` ago.
    /// - Returns: nil when nothing was due.
    /// - Throws: as ``collect(lease:slice:)``.
    /// - Complexity: as ``collect(lease:slice:)``.
    @discardableResult
    public func collect(every interval: Duration) throws -> CollectionReport? {
        let isDue = try run("collect") { session in
            guard try ReplicationTables.exist(session.connection) else { return false }
            let last = try Metadata(session.connection).integer(.collectedAt)
            let now = try StoreClock.observe(
                on: session.connection, at: session.environment.wall()
            ).time
            let (time, isBeyond) = now.subtractingReportingOverflow(last)
            return isBeyond || time >= interval.milliseconds
        }
        return isDue ? try collect() : nil
    }

    /// Stores what other replicas have acknowledged to have merged, and drops what was doubtful for
    /// the sake of those that are not waited for any more.
    /// - Throws: ``SyncError``: `busy`, `refused`, and SQLite errors.
    package func noteAcknowledged(_ acknowledged: [ReplicaID: VersionVector]) throws {
        try run("pull") { session in
            guard try ReplicationTables.exist(session.connection) else { return }
            try session.transact {
                try PeerAcknowledgements($0).note(acknowledged, at: try $0.observeClock())
                try SnapshotDoubts.settle(in: $0)
            }
        }
    }

    /// What the other replicas have merged that are not away for longer than the lease.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var peers: [ReplicaID: VersionVector] {
        get throws {
            try run("pull") { session in
                guard try ReplicationTables.exist(session.connection) else { return [:] }
                return try session.transact {
                    try PeerAcknowledgements($0).present(
                        at: try $0.observeClock(), lease: Self.lease.milliseconds)
                }
            }
        }
    }

    /// Up to where other replicas have collected without having merged what was written here, and
    /// the cut of the snapshots that left out what is doubtful here; empty: nothing. This replica
    /// needs a snapshot that covers it.
    /// - Throws: ``SyncError``: SQLite errors.
    package var behind: VersionVector {
        get throws {
            try run("pull") { session in
                let settings = Metadata(session.connection)
                return try settings.vector(.behind).joined(settings.vector(.doubted))
            }
        }
    }

    /// The replicas whose snapshots are awaited, because another one's leaves out what is shown
    /// here; empty: any snapshot helps, or none is needed.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var awaited: Set<ReplicaID> {
        get throws {
            try run("pull") { session in
                let settings = Metadata(session.connection)
                guard try settings.vector(.behind).isEmpty,
                    try !settings.vector(.doubted).isEmpty
                else { return [] }
                return try session.transact { try Self.doubt(in: $0).awaited }
            }
        }
    }

    /// What one snapshot leaves out and is still shown.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    public var doubtful: DoubtfulRows {
        get throws {
            try run("status") { session in
                guard try ReplicationTables.exist(session.connection),
                    try !Metadata(session.connection).vector(.doubted).isEmpty
                else { return DoubtfulRows(count: 0, awaited: []) }
                return try session.transact { try Self.doubt(in: $0) }
            }
        }
    }

    private static func doubt(in transaction: MergeTransaction) throws -> DoubtfulRows {
        let members = try DoubtMembers(transaction)
        let doubts = try transaction.storage.doubts.all()
        var awaited: Set<ReplicaID> = []
        for dots in doubts.values {
            for (dot, confirmed) in dots {
                awaited.formUnion(members.awaited(for: dot, besides: confirmed))
            }
        }
        return DoubtfulRows(count: doubts.count, awaited: awaited)
    }
}
