import SyncStorage
import SyncValues

/// The moving end of a store's history, on the store's live connection.
///
/// Invariants:
/// - `boundaries` are the ends of commits after `digested`, ascending; once found, a boundary
///   stays, because the WAL that showed it may be gone later.
/// - `seen` only grows. What ``look()`` returned is at or before it, and is never returned again.
/// - Reading never holds a lock for longer than it takes to read the new rows.
package final class LiveLog {
    /// A commit with more log rows than this is not put together in memory: readers get it from the
    /// history tables, in pages.
    static let lookRowsMax: Int64 = 10_000

    package let catalog: EntityCatalog
    let settings: Settings
    private let connection: OpaquePointer
    private let identity: StoreIdentity
    private let resolver: ChangeResolver
    private let assembler: TransactionAssembler
    private let commits: BoundaryReader
    private let schemaVersion: Statement
    private let newestSeq: Statement

    /// Made at the first need, and given up when the store is quiet.
    private var digestion: Digestion?
    private var boundaries: [Boundary] = []
    private var keep: (([Boundary]) -> Void)?
    private var seen: Int64
    private var bounded: Int64
    private var schema: Int64

    init(_ connection: OpaquePointer, _ identity: StoreIdentity) throws {
        self.connection = connection
        self.identity = identity
        catalog = try EntityCatalog(connection)
        settings = try Settings(connection)
        resolver = try ChangeResolver(
            connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        assembler = TransactionAssembler(try LogReader(connection, catalog: catalog))
        commits = try BoundaryReader(connection)
        schemaVersion = try Statement(connection, "PRAGMA schema_version")
        newestSeq = try Statement(connection, "SELECT max(seq) FROM syncd_log")
        let digested = try settings.position(.digested)
        seen = digested
        bounded = digested
        schema = 0
        // From now on every commit is told from the next.
        _ = try pendingBoundaries()
        schema = try readSchemaVersion()
    }

    /// The wal-index as of the last look.
    var walIndex: WalIndex? { commits.index }

    /// The owner has committed on this connection.
    func didCommit() { commits.didCommit() }

    /// What was committed since the last look.
    func look() throws -> Store.Look {
        commits.willRead()
        return try RawTransaction.read(connection) {
            let digested = try extendBoundaries()
            var look = Store.Look(schemaChanged: try noticeSchemaChange())
            // Another process may have digested what was not looked at yet.
            if digested > seen { try takeDigested(upTo: digested, into: &look) }
            try takePending(into: &look)
            seen = max(seen, bounded)
            return look
        }
    }

    /// Takes over what an earlier process found: the ends of commits, ascending. What looks like
    /// one commit by now is several again. Those that the history tables hold are of no use;
    /// numbers beyond the log are of another history.
    ///
    /// - Parameter keep: gets what was found since, and what will be found, before anybody is told.
    func adopt(_ found: [Boundary], keeping keep: @escaping ([Boundary]) -> Void) throws {
        self.keep = keep
        let newest = bounded
        if let last = found.last, last.last <= newest {
            let digested = try settings.position(.digested)
            var ends: [Int64: Boundary] = [:]
            for boundary in boundaries + found where boundary.last > digested {
                let isExact = boundary.isExact || ends[boundary.last]?.isExact == true
                ends[boundary.last] = Boundary(last: boundary.last, isExact: isExact)
            }
            boundaries = ends.values.sorted { $0.last < $1.last }
        }
        keep(boundaries)
    }

    /// Reads the ends of new commits; returns how far the history tables go.
    private func extendBoundaries() throws -> Int64 {
        let digested = try settings.position(.digested)
        if digested > bounded { bounded = digested }
        if let first = boundaries.first, first.last <= digested {
            boundaries.removeAll { $0.last <= digested }
            resolver.births.forget(upTo: digested)
        }
        let newest = try newestSeqInLog()
        guard newest >= bounded else {
            throw SyncError(
                .foreignHistory,
                "history went back from \(bounded) to \(newest): an older copy was put in place",
                hint: "Readers have to resync")
        }
        // Also when nothing is new: the reader moves on in the WAL past commits of other tables.
        let found = try commits.boundaries(after: bounded).transactions
        keep?(found)
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
        guard try StoreIdentity(settings).isSameHistory(as: identity) else {
            throw SyncError(
                .foreignHistory, "the history of the store was begun again",
                hint: "Readers have to resync")
        }
        schema = version
        return true
    }

    private func takeDigested(upTo digested: Int64, into look: inout Store.Look) throws {
        var query = HistoryQuery()
        query.after = resolver.token(seen, Timestamp(milliseconds: 0))
        let history = try HistoryReader(connection, catalog: catalog, resolver: resolver)
        _ = try history.forEach(query) { transaction in
            // Both are positions: `first` may be anything, `seen` is not negative.
            if transaction.number - max(seen, transaction.first) > Self.lookRowsMax {
                look.tooLarge = true
            } else {
                look.transactions.append(transaction)
            }
            return true
        }
        seen = digested
    }

    private func takePending(into look: inout Store.Look) throws {
        // From the end: in a burst thousands wait for the digest, and few of them are new.
        let known = boundaries.lastIndex { $0.last <= seen }
        let new = Array(boundaries[(known.map { $0 + 1 } ?? 0)...])
        guard let last = new.last else { return }
        guard last.last - seen <= Self.lookRowsMax else {
            look.tooLarge = true
            return
        }
        try assembler.forEach(after: seen, new) { transaction in
            look.transactions.append(try resolver.resolve(pending: transaction))
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
        // Commits go on meanwhile, and a flat-out writer goes round its WAL within some
        // milliseconds: their ends are looked for between the slices.
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

    /// What a digest works with: some twenty statements, more memory than all the rest of a store.
    private struct Digestion {
        let digester: Digester
        let fingerprints: FingerprintKeeper?
        var lastUse = ContinuousClock.now
    }

    /// Most stores have nothing to digest when they are opened, and should not pay for it.
    private func hasWork() throws -> Bool {
        if digestion != nil { return true }
        let digested = try settings.position(.digested)
        guard bounded == digested else { return true }
        if try Digester.canTrim(connection, digested) { return true }
        return try FingerprintKeeper.hasWork(connection, catalog: catalog, settings: settings)
    }

    private func prepareDigestion() throws -> Digestion {
        let commits = commits
        var digestion =
            try digestion
            ?? Digestion(
                digester: Digester(connection, catalog: catalog, settings: settings) {
                    commits.didCommit()
                },
                fingerprints: FingerprintKeeper(connection, catalog: catalog, settings: settings))
        digestion.lastUse = .now
        self.digestion = digestion
        return digestion
    }

    /// Gives up what nobody has used for so long.
    func rest(unusedFor limit: Duration) {
        guard let digestion, digestion.lastUse.duration(to: .now) >= limit else { return }
        self.digestion = nil
    }

    /// The ends of commits that the history tables may not have yet, after a look for new ones.
    package func pendingBoundaries() throws -> [Boundary] {
        commits.willRead()
        _ = try RawTransaction.read(connection, extendBoundaries)
        return boundaries
    }
}
