import SyncStorage
import SyncValues

/// The end of a store's history, on the store's live connection: the commits that are in the log.
///
/// Invariants:
/// - `boundaries` are the ends of commits after `digested`, ascending; once found, a boundary
///   stays, because the WAL that showed it may be gone later.
/// - `seen` only grows. What ``poll()`` returned is at or before it, and is never returned again.
/// - Reading never holds a lock for longer than it takes to read the new rows.
package final class LiveLog {
    private static let restartHint =
        "Consumers must read the current objects, then continue from the newest token"

    /// A commit with more log rows than this is not assembled in memory: readers get it from the
    /// history tables, in pages.
    static let pollRowsMax: Int64 = 10_000

    package let catalog: EntityCatalog
    let metadata: Metadata
    private let connection: OpaquePointer
    private let identity: StoreIdentity
    private let resolver: ChangeResolver
    private let assembler: TransactionAssembler
    private let commits: BoundaryReader
    private let schemaVersion: Statement
    private let newestSeq: Statement

    /// Made when first needed, and released when the store is idle.
    private var digestion: Digestion?
    private var boundaries: [Boundary] = []
    private var record: (([Boundary]) -> Void)?
    private var seen: Int64
    private var bounded: Int64
    private var schema: Int64

    init(_ connection: OpaquePointer, identity: StoreIdentity) throws {
        self.connection = connection
        self.identity = identity
        catalog = try EntityCatalog(connection)
        metadata = Metadata(connection)
        resolver = try ChangeResolver(
            connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        assembler = TransactionAssembler(try LogReader(connection, catalog: catalog))
        commits = try BoundaryReader(connection)
        schemaVersion = try Statement("PRAGMA schema_version", on: connection)
        newestSeq = try Statement(LogTable.newestSQL, on: connection)
        let digested = try metadata.position(.digested)
        seen = digested
        bounded = digested
        schema = 0
        // From now on every commit is distinguished from the next.
        _ = try pendingBoundaries()
        schema = try readSchemaVersion()
    }

    /// The wal-index as of the last read.
    var walIndex: WalIndex? { commits.index }

    /// To be called after a commit on this connection.
    func didCommit() { commits.didCommit() }

    /// The transactions committed since the last call.
    /// - Throws: `foreignHistory` when the history went back; `busy` in the rollback journal modes.
    func poll() throws -> PollResult {
        commits.willRead()
        return try RawTransaction.read(on: connection) {
            let digested = try extendBoundaries()
            var result = PollResult(schemaChanged: try noticeSchemaChange())
            // Another process may have digested what was not returned yet.
            if digested > seen { try takeDigested(upTo: digested, into: &result) }
            try takePending(into: &result)
            seen = max(seen, bounded)
            return result
        }
    }

    /// Restores what an earlier process found: the ends of commits, ascending. Commits that can no
    /// longer be told apart in the WAL are separate again. Boundaries that the history tables
    /// cover are dropped; numbers beyond the log belong to another history.
    ///
    /// - Parameter record: gets what was found since, and what will be found, before any subscriber
    ///   is notified.
    /// - Throws: the error of SQLite.
    func restoreBoundaries(
        _ found: [Boundary], recordingNew record: @escaping ([Boundary]) -> Void
    ) throws {
        self.record = record
        let newest = bounded
        if let last = found.last, last.last <= newest {
            let digested = try metadata.position(.digested)
            var ends: [Int64: Boundary] = [:]
            for boundary in boundaries + found where boundary.last > digested {
                let isExact = boundary.isExact || ends[boundary.last]?.isExact == true
                ends[boundary.last] = Boundary(last: boundary.last, isExact: isExact)
            }
            boundaries = ends.values.sorted { $0.last < $1.last }
        }
        record(boundaries)
    }

    /// Reads the ends of new commits; returns how far the history tables go.
    private func extendBoundaries() throws -> Int64 {
        let digested = try metadata.position(.digested)
        if digested > bounded { bounded = digested }
        if let first = boundaries.first, first.last <= digested {
            boundaries.removeAll { $0.last <= digested }
            resolver.births.forget(upTo: digested)
        }
        let newest = try newestSeqInLog()
        guard newest >= bounded else {
            throw SyncError(
                .foreignHistory,
                "the history went back from \(bounded) to \(newest): "
                    + "the file was replaced by an older copy",
                hint: Self.restartHint)
        }
        // Also when nothing is new: the reader moves on in the WAL past commits of other tables.
        let found = try commits.boundaries(after: bounded).transactions
        record?(found)
        boundaries += found
        bounded = found.last?.last ?? bounded
        return digested
    }

    private func newestSeqInLog() throws -> Int64 {
        defer { newestSeq.reset() }
        return try LogReader.checked(newest: newestSeq.step() ? newestSeq.integer(0) : 0)
    }

    private func readSchemaVersion() throws -> Int64 {
        defer { schemaVersion.reset() }
        return try schemaVersion.step() ? schemaVersion.integer(0) : 0
    }

    private func noticeSchemaChange() throws -> Bool {
        let version = try readSchemaVersion()
        guard version != schema else { return false }
        // Its tables were dropped and made again, or it joined another store.
        guard try StoreIdentity(metadata).isSameHistory(as: identity) else {
            throw SyncError(
                .foreignHistory, "the history of the store was restarted",
                hint: Self.restartHint)
        }
        schema = version
        return true
    }

    private func takeDigested(upTo digested: Int64, into result: inout PollResult) throws {
        var query = HistoryQuery()
        query.after = resolver.token(of: seen, time: Timestamp(milliseconds: 0))
        let history = try HistoryReader(connection, catalog: catalog, resolver: resolver)
        _ = try history.forEach(matching: query) { transaction in
            // Both are positions: `first` may be anything, `seen` is not negative.
            if transaction.number - max(seen, transaction.first) > Self.pollRowsMax {
                result.tooLarge = true
            } else {
                result.transactions.append(transaction)
            }
            return true
        }
        seen = digested
    }

    private func takePending(into result: inout PollResult) throws {
        // From the end: in a burst thousands wait for the digest, and few of them are new.
        let known = boundaries.lastIndex { $0.last <= seen }
        let new = Array(boundaries[(known.map { $0 + 1 } ?? 0)...])
        guard let last = new.last else { return }
        guard last.last - seen <= Self.pollRowsMax else {
            result.tooLarge = true
            return
        }
        try assembler.forEach(after: seen, in: new) { transaction in
            result.transactions.append(try resolver.resolve(pending: transaction))
            return true
        }
    }

    /// Moves committed log rows into the history tables until `isDue` says no; when there are none,
    /// brings the fingerprints up to date.
    ///
    /// - Returns: whether something is left.
    func digest(while isDue: () -> Bool) throws -> Bool {
        _ = try pendingBoundaries()
        guard try hasWork() else { return false }
        let digestion = try prepareDigestion()
        // Commits go on meanwhile, and a writer without pauses wraps its WAL within some
        // milliseconds: boundaries are read between the slices.
        let digested = try digestion.digester.digest(boundaries) {
            guard isDue() else { return false }
            _ = try pendingBoundaries()
            return true
        }
        boundaries.removeAll { $0.last <= digested }
        resolver.births.forget(upTo: digested)
        if bounded > digested { return true }
        return try digestion.fingerprints?.work(while: isDue, didCommit: commits.didCommit)
            ?? false
    }

    /// The statements of the digest: some twenty, more memory than all the rest of a store.
    private struct Digestion {
        let digester: Digester
        let fingerprints: FingerprintKeeper?
        var lastUse = ContinuousClock.now
    }

    /// Most stores have nothing to digest when they are opened: nothing is prepared for them.
    private func hasWork() throws -> Bool {
        if digestion != nil { return true }
        let digested = try metadata.position(.digested)
        guard bounded == digested else { return true }
        if try Digester.canTrim(on: connection, digested: digested) { return true }
        return try FingerprintKeeper.hasWork(connection, catalog: catalog, metadata: metadata)
    }

    private func prepareDigestion() throws -> Digestion {
        let commits = commits
        var digestion =
            try digestion
            ?? Digestion(
                digester: Digester(connection, catalog: catalog, metadata: metadata) {
                    commits.didCommit()
                },
                fingerprints: FingerprintKeeper(connection, catalog: catalog, metadata: metadata))
        digestion.lastUse = .now
        self.digestion = digestion
        return digestion
    }

    /// Releases the statements of the digest when they were not used for `limit`.
    func unload(idleFor limit: Duration) {
        guard let digestion, digestion.lastUse.duration(to: .now) >= limit else { return }
        self.digestion = nil
    }

    /// The ends of commits that the history tables may not have yet, new ones included.
    /// - Throws: as ``poll()``.
    package func pendingBoundaries() throws -> [Boundary] {
        commits.willRead()
        _ = try RawTransaction.read(on: connection, extendBoundaries)
        return boundaries
    }
}
