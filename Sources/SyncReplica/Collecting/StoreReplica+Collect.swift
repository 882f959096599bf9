import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What a collection dropped.
public struct CollectionReport: Sendable, Hashable {
    /// Deleted objects that nobody needs to know of any more.
    public internal(set) var objects = 0
    /// Transactions of which nothing is left.
    public internal(set) var transactions = 0

    /// Nothing.
    public init() {}
}

extension StoreReplica {
    /// How long a replica may be away before nobody waits for it: thirty days. It comes back by a
    /// snapshot then; what it wrote meanwhile is merged.
    public static let lease: Duration = .seconds(30 * 86_400)

    /// A state with more facts than this is not collected: one snapshot could not hold it.
    private static let factsMax = BatchLimits.factsMax / 2
    /// Objects marked or dropped in one transaction; headers take less.
    private static let sliceCount = 500

    /// Drops what no replica needs any more: deleted objects, and transactions that others
    /// overwrote, which all replicas have merged. The tables, history and conflicts stay as
    /// they are.
    ///
    /// In two phases: an object goes when all replicas have merged what was merged here when it
    /// was found to be dead and named by nothing. So one call marks, and a later one drops.
    /// - Parameters:
    ///   - lease: how long a replica may be away before nobody waits for it.
    ///   - slice: objects in one transaction, each of some milliseconds.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says. What was dropped until then stays so.
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

    /// Collects when the last time was so long ago.
    /// - Returns: nil when it was not.
    @discardableResult
    public func collect(every interval: Duration) throws -> CollectionReport? {
        let isDue = try run("collect") { session in
            guard try ReplicationTables.exist(session.connection) else { return false }
            let last = try Settings(session.connection).integer(.collectedAt)
            let (time, isBeyond) = session.environment.wall().subtractingReportingOverflow(last)
            return isBeyond || time >= interval.milliseconds
        }
        return isDue ? try collect() : nil
    }

    /// Takes note of what other replicas have said to have merged.
    package func noteAcknowledged(_ acknowledged: [ReplicaID: VersionVector]) throws {
        try run("pull") { session in
            guard try ReplicationTables.exist(session.connection) else { return }
            try session.transact { try $0.note(acknowledged, at: session.environment.wall()) }
        }
    }

    /// What the other replicas have merged, as far as they are present.
    package var peers: [ReplicaID: VersionVector] {
        get throws {
            try run("pull") { session in
                guard try ReplicationTables.exist(session.connection) else { return [:] }
                let (now, lease) = (
                    session.environment.wall(), Self.lease.milliseconds
                )
                return try session.transact { work in
                    try PeerStorage(session.connection, work.prepared.replicas).all()
                        .filter { !$0.value.isAbsent(at: now, lease: lease) }
                        .mapValues(\.merged)
                }
            }
        }
    }

    /// Up to where others have collected before they knew what was written here; empty: nothing.
    /// A snapshot that was made after that is needed.
    package var behind: VersionVector {
        get throws {
            try run("pull") { session in
                try Settings(session.connection).vector(.behind)
            }
        }
    }
}

/// One collection: short write transactions, and one look at everything beside writers.
private struct CollectionRun {
    let session: MergeSession
    let lease: Int64
    let slice: Int
    let factsMax: Int

    func run() throws -> CollectionReport {
        var report = CollectionReport()
        let now = session.environment.wall()
        let round = Int64.random(in: 1...Int64.max)
        let stable = try session.transact { work in
            try work.note([:], at: now)
            try work.begin(round: round)
            return try work.stableCut(at: now, lease: lease)
        }
        var row: Int64? = 0
        while let last = row {
            row = try session.transact { try $0.mark(round: round, after: last, count: slice) }
        }
        let survey = try session.read { try CollectionSurvey(session.connection, $0) }
        // A schema that has just changed: the next time.
        guard let survey, survey.factCount <= factsMax else { return report }
        var needed = Array(survey.needed)
        while !needed.isEmpty {
            try session.transact { try $0.unmark(needed.suffix(slice)) }
            needed.removeLast(min(slice, needed.count))
        }
        try session.transact { try $0.end(round: round) }
        while true {
            let count = try session.transact { try $0.dropObjects(stable: stable, count: slice) }
            if count == 0 { break }
            report.objects += count
        }
        var place: Int64? = 0
        while let last = place {
            let step = try session.transact { work in
                try work.dropHeaders(
                    stable: stable, used: survey.used, after: last, count: 4 * slice)
            }
            place = step.place
            report.transactions += step.dropped
        }
        try session.transact { work in
            try work.dropRuns()
            try work.prepared.history.settings.set(.collectedAt, .integer(now))
        }
        return report
    }
}
