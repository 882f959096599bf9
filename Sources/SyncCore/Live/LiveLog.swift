import SyncStorage
import SyncValues

/// The end of a store's history, on the store's live connection: the commits that are in the log.
///
/// What is told is fixed: a transaction gets its number when its end is recorded. A process that
/// records boundaries in a journal (the daemon) tells what the journal has; every other one settles
/// first (``settle()``): it writes what is committed to the history tables.
///
/// Invariants:
/// - `boundaries` are the ends of commits after `digested`, ascending; once found, a boundary
///   stays, because the WAL that showed it may be gone later.
/// - With a journal, all of `boundaries` are in it before a caller sees one of them.
/// - `seen` only grows. What ``poll()`` returned is at or before it, and is never returned again.
/// - Reading never holds a lock for longer than it takes to read the new rows.
package final class LiveLog {
    private static let restartHint =
        "Consumers must read the current objects, then continue from the newest token"

    /// More log rows than this are not assembled at once: readers get them from the history tables,
    /// in pages. Nor is a transaction beyond ``AssemblyLimit/memory``, nor more than
    /// ``pollBytesMax``.
    static let pollRowsMax: Int64 = 10_000
    static let pollBytesMax = 16 << 20

    package let catalog: EntityCatalog
    let metadata: Metadata
    let connection: OpaquePointer
    let identity: StoreIdentity
    let resolver: ChangeResolver
    let assembler: TransactionAssembler
    let commits: BoundaryReader
    /// Where small commits are read without SQL: see ``pollFrames()``.
    var tail: LogTail?
    var roots: LogTail.Roots?
    /// How many looks needed no SQL.
    var frameLookCount = 0
    private let schemaVersion: Statement
    private let newestSeq: Statement
    private let reading: LiveReading
    var anchor: HistoryAnchor

    /// Made when first needed, and released when the store is idle.
    private var digestion: Digestion?
    /// By lineage, the tables whose rows cannot be read in this process, as the last digest found
    /// them: nothing is left to do for them.
    private(set) var unreadable: [Int64: CaptureFinding]
    var boundaries: [Boundary] = []
    var journal: BoundaryJournal?
    var peers: PeerJournals?
    /// Other readers find the journal by its name in the metadata.
    var isNamed = false
    /// `boundaries` has some that the journal lacks.
    var isGapped = false
    /// Held while a merge writes: ``boundariesForWriting()``.
    var writersJournals: NamedJournals?
    /// Found, and not recorded yet: in the transaction that is being read, or in one that failed in
    /// WAL mode.
    private(set) var unrecorded: [Boundary] = []
    var seen: Int64
    var bounded: Int64
    private(set) var schema: Int64
    /// The last transaction that was not assembled.
    var lastLarge: Int64 = 0

    /// - Parameter rest: what the connection before left; nil: there was none.
    /// - Throws: `foreignHistory` when the history of `rest` is not in the file any more.
    init(
        _ connection: OpaquePointer, identity: StoreIdentity, resuming rest: Rest? = nil
    ) throws {
        self.connection = connection
        self.identity = identity
        catalog = try EntityCatalog(connection)
        metadata = Metadata(connection)
        resolver = try ChangeResolver(
            connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        assembler = TransactionAssembler(
            try LogReader(connection, catalog: catalog), limit: .memory)
        commits = try BoundaryReader(connection)
        schemaVersion = try Statement("PRAGMA schema_version", on: connection)
        newestSeq = try Statement(LogTable.newestSQL, on: connection)
        reading = LiveReading(connection)
        anchor = try HistoryAnchor(connection, metadata: metadata)
        let digested = try metadata.position(.digested)
        seen = rest?.seen ?? digested
        bounded = rest?.bounded ?? digested
        schema = rest?.schema ?? 0
        unreadable = rest?.unreadable ?? [:]
        anchor.restore(rest?.anchor)
        if rest != nil { try requireSameHistory() }
        // From now on every commit is distinguished from the next.
        _ = try pendingBoundaries()
        if rest == nil { schema = try readSchemaVersion() }
        if let journal = rest?.journal { try record(in: journal) }
    }

    /// The wal-index as of the last read.
    var walIndex: WalIndex? { commits.index }

    /// To be called after a commit on this connection.
    func didCommit() { commits.didCommit() }

    /// The transactions committed since the last call.
    /// - Throws: `foreignHistory` when the history went back; `busy` in the rollback journal modes.
    func poll(isRepeated: Bool) throws -> PollResult {
        if try isRecording() {
            do {
                if let result = try pollFrames() { return result }
                return try read(isRepeated: isRepeated) {
                    let result = try newTransactions(digested: $0, recorded: boundaries)
                    tail = try findTail()
                    return result
                }
            } catch let error as SyncError where error.code == .diskFull && isGapped {
                // What could not be recorded is told when it is in the history tables.
            }
        }
        let settlement = try settle()
        return try RawTransaction.read(on: connection) {
            var result = try newTransactions(
                digested: metadata.position(.digested), recorded: settlement.boundaries)
            result.unsettled = settlement.unsettled
            return result
        }
    }

    private func newTransactions(
        digested: Int64, recorded: [Boundary]
    ) throws -> PollResult {
        var result = PollResult(schemaChanged: try noticeSchemaChange())
        // Another process may have digested what was not returned yet.
        if digested > seen { try takeDigested(upTo: digested, into: &result) }
        let isComplete = try takePending(recorded, after: digested, into: &result)
        seen = max(seen, recorded.last?.last ?? digested)
        if isComplete { resolver.births.complete(upTo: seen) }
        return result
    }

    /// Takes what was recorded: up to its end no other boundary is one, because what was told there
    /// as one transaction stays one.
    func adopt(_ recorded: [Boundary]) throws {
        let digested = try metadata.position(.digested)
        let known = recorded.filter { $0.last > digested && $0.last <= bounded }
        guard let end = known.last?.last else { return }
        boundaries = known + boundaries.filter { $0.last > end }
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
        guard try anchor.holds() else {
            throw SyncError(
                .foreignHistory,
                "row \(anchor.row?.seq ?? 0) of the log is not the row that it was: "
                    + "the file was replaced by another copy",
                hint: Self.restartHint)
        }
        // Also when nothing is new: the reader moves on in the WAL past commits of other tables.
        var found = try commits.boundaries(after: bounded).transactions
        if let peers, !found.isEmpty { found = try peers.adopt(found, after: bounded) }
        unrecorded += found
        boundaries += found
        bounded = found.last?.last ?? bounded
        try anchor.move(to: bounded)
        return digested
    }

    private func newestSeqInLog() throws -> Int64 {
        defer { newestSeq.reset() }
        return try LogReader.checked(newest: newestSeq.step() ? newestSeq.integer(0) : 0)
    }

    func readSchemaVersion() throws -> Int64 {
        defer { schemaVersion.reset() }
        return try schemaVersion.step() ? schemaVersion.integer(0) : 0
    }

    private func noticeSchemaChange() throws -> Bool {
        let version = try readSchemaVersion()
        guard version != schema else { return false }
        try requireSameHistory()
        schema = version
        unreadable = [:]
        return true
    }

    /// Its tables may have been dropped and made again, or it joined another store.
    private func requireSameHistory() throws {
        guard try StoreIdentity(metadata).isSameHistory(as: identity) else {
            throw SyncError(
                .foreignHistory, "the history of the store was restarted",
                hint: Self.restartHint)
        }
    }

    private func takeDigested(upTo digested: Int64, into result: inout PollResult) throws {
        guard journal != nil || digested - seen <= Self.pollRowsMax else {
            result.tooLarge = true
            seen = digested
            return
        }
        var query = HistoryQuery()
        query.after = resolver.token(of: seen, time: Timestamp(milliseconds: 0))
        let limits = PartLimits(
            changesMax: Int(Self.pollRowsMax), bytesMax: Self.pollBytesMax, valueBytesMax: nil)
        let history = try HistoryReader(
            connection, catalog: catalog, resolver: resolver, delivering: Delivery(limits: limits))
        var bytes = 0
        _ = try history.forEach(matching: query) { transaction in
            for change in transaction.changes { bytes += change.jsonBytes }
            // Both are positions: `first` may be anything, `seen` is not negative.
            if transaction.part != nil || bytes > Self.pollBytesMax
                || transaction.number - max(seen, transaction.first) > Self.pollRowsMax
            {
                result.tooLarge = true
            } else {
                result.transactions.append(transaction)
            }
            return !result.tooLarge
        }
        seen = digested
    }

    /// - Returns: whether the inserts of all that is committed are known.
    private func takePending(
        _ boundaries: [Boundary], after digested: Int64, into result: inout PollResult
    ) throws -> Bool {
        // From the end: in a burst thousands wait for the digest, and few of them are new.
        let known = boundaries.lastIndex { $0.last <= seen }
        let new = Array(boundaries[(known.map { $0 + 1 } ?? 0)...])
        guard let last = new.last else { return try findBirths(after: digested, in: boundaries) }
        guard last.last - seen <= Self.pollRowsMax,
            try findBirths(after: digested, in: boundaries)
        else {
            result.tooLarge = true
            return false
        }
        var bytes = 0
        var isComplete = true
        try assembler.forEach(after: seen, in: new) { pending in
            if pending.unassembled != nil { lastLarge = pending.number }
            if pending.unassembled == nil, bytes <= Self.pollBytesMax {
                let transaction = try resolver.resolve(pending: pending)
                for change in transaction.changes { bytes += change.jsonBytes }
                result.transactions.append(transaction)
                return true
            }
            result.tooLarge = true
            isComplete = false
            return false
        }
        return isComplete
    }

    /// Whether the log has a transaction that is too large to be assembled in memory: queries wait
    /// until it is in the history tables.
    private func hasLarge() throws -> Bool {
        var last = try metadata.position(.digested)
        if lastLarge > last { return true }
        for boundary in boundaries where boundary.last > last {
            if boundary.last - last > Self.pollRowsMax { return true }
            last = boundary.last
        }
        return false
    }

    /// Digests while there is a large transaction and `isDue` says yes.
    ///
    /// - Returns: whether there still is one.
    /// - Throws: as ``digest(while:)``.
    func digestLarge(while isDue: () -> Bool) throws -> Bool {
        _ = try pendingBoundaries()
        guard try hasLarge() else { return false }
        _ = try digest(while: isDue)
        return try hasLarge()
    }

    /// Moves committed log rows into the history tables until `isDue` says no; when there are none,
    /// brings the fingerprints up to date.
    ///
    /// - Returns: whether something is left.
    func digest(while isDue: () -> Bool) throws -> Bool {
        // Beside a daemon its journal has to be taken into account.
        if try !isRecording(), let obstacle = try settle().obstacle { throw obstacle }
        _ = try pendingBoundaries()
        guard try hasWork() else { return false }
        try? nameJournal()
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
        guard let fingerprints = digestion.fingerprints else { return false }
        defer { unreadable = fingerprints.unreadable }
        return try fingerprints.work(while: isDue, didCommit: commits.didCommit)
    }

    /// The statements of the digest: some twenty, more memory than all the rest of a store.
    struct Digestion {
        let digester: Digester
        let fingerprints: FingerprintKeeper?
        var lastUse = ContinuousClock.now
    }

    /// Most stores have nothing to digest when they are opened: nothing is prepared for them.
    func hasWork() throws -> Bool {
        if digestion != nil { return true }
        let digested = try metadata.position(.digested)
        guard bounded == digested else { return true }
        if try Digester.canTrim(on: connection, digested: digested) { return true }
        return try FingerprintKeeper.hasWork(
            connection, catalog: catalog, metadata: metadata, leaving: unreadable)
    }

    func prepareDigestion() throws -> Digestion {
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

    /// The ends of commits that the history tables may not have yet, new ones included. Without a
    /// journal they are recorded nowhere: no number of them may be given to a caller.
    /// - Throws: as ``poll()``.
    package func pendingBoundaries(isRepeated: Bool = false) throws -> [Boundary] {
        do {
            try read(isRepeated: isRepeated) { _ in }
        } catch let error as SyncError where error.code == .diskFull && isGapped {
            // Nothing is told here.
            try read(isRepeated: isRepeated) { _ in }
        }
        return boundaries
    }

    /// Runs `body` over one state of the store after the ends of new commits were found and
    /// recorded; it gets how far the history tables go.
    ///
    /// In a rollback mode nothing is locked meanwhile: what `body` noted is dropped when a writer
    /// was at work, and recorded when none was.
    private func read<Result>(
        isRepeated: Bool, _ body: (Int64) throws -> Result
    ) throws -> Result {
        // No reader of the journal digests between the snapshot and the record of what is in it.
        peers?.lock()
        var isLocked = true
        func unlock() {
            peers?.release()
            isLocked = false
        }
        func record() throws {
            if !unrecorded.isEmpty, !isGapped, let journal,
                !journal.append(unrecorded, mark: mark(of: unrecorded))
            {
                isGapped = true
                throw SyncError(.diskFull, journal.fault ?? "the journal cannot be written")
            }
            unrecorded = []
            unlock()
        }
        defer { if isLocked { unlock() } }
        commits.willRead()
        let isWal = commits.index != nil
        // In WAL mode nothing is dropped, and thousands of boundaries need not be copied.
        let before = isWal ? nil : memento
        func drop() { if let before { restore(before) } }
        do {
            let result = try reading.read(
                isWal: isWal, isRepeated: isRepeated, dropping: drop
            ) {
                let digested = try extendBoundaries()
                if isWal { try record() }
                return try body(digested)
            }
            if isLocked { try record() }
            return result
        } catch {
            // Whether what was read is a state is not known, or it is recorded nowhere.
            drop()
            throw error
        }
    }

    /// What reading changes here.
    private struct Memento {
        let boundaries: [Boundary]
        let unrecorded: [Boundary]
        let seen: Int64
        let bounded: Int64
        let schema: Int64
        let birthsEnd: Int64
        let anchor: HistoryAnchor.Row?
        let commits: BoundaryReader.Memento
    }

    private var memento: Memento {
        Memento(
            boundaries: boundaries, unrecorded: unrecorded, seen: seen, bounded: bounded,
            schema: schema, birthsEnd: resolver.births.end, anchor: anchor.row,
            commits: commits.memento)
    }

    private func restore(_ memento: Memento) {
        boundaries = memento.boundaries
        unrecorded = memento.unrecorded
        seen = memento.seen
        bounded = memento.bounded
        schema = memento.schema
        resolver.births.forget(after: memento.birthsEnd)
        anchor.restore(memento.anchor)
        commits.memento = memento.commits
    }
}
