import CSQLite
import Glibc
import SyncStorage
import SyncValues

/// What a purge removed, and which consumers had not read it.
public struct PurgeReport: Sendable, Hashable {
    /// Transactions removed.
    public let transactions: Int
    /// Changes removed.
    public let changes: Int
    /// Consumers that had not read what was removed: lapsed ones, and with `force` live ones.
    public let passed: [Consumer]
}

extension Store {
    /// Removes the history strictly before a token; the token's own transaction stays, and so does
    /// the newest one, so that the newest token keeps working.
    ///
    /// A live reader or peer needs everything after its acknowledged position; one that never
    /// acknowledged needs everything. The purge does not wait for a consumer with an expired lease.
    ///
    /// In a store that is synchronised, changes stay that are not recorded for the other replicas
    /// yet, also with `force`: nobody else has them.
    ///
    /// - Parameters:
    ///   - before: nil: as far as the live consumers allow.
    ///   - force: passes live consumers; each of them has to resync.
    /// - Throws: ``SyncError``: `stillNeeded` naming the consumers that need it, or for changes
    ///   before the token that are not recorded for other replicas; `foreignHistory`, `busy`.
    /// - Complexity: O(changes removed), in slices that hold writers up for about 5 ms each.
    @discardableResult
    public func purge(before token: Token? = nil, force: Bool = false) throws -> PurgeReport {
        try explaining("purge") {
            let end = ContinuousClock.now + Self.digestMax
            while try digest(), ContinuousClock.now < end {}
            if let token { try checkOrigin(of: token) }
            let now = Timestamp.now()
            let consumers = try consumers()
            let holding = consumers.filter { $0.holdsHistory(at: now) }
            let floor = holding.map(\.acknowledged).min()
            let goal = token?.number ?? floor ?? .max
            // The token of a consumer needs its own transaction.
            if let floor, !force, let last = try last(before: goal), last >= floor {
                throw stillNeeded(by: holding.filter { $0.acknowledged < goal }, before: goal)
            }
            let passed = consumers.filter {
                $0.kind != .writer && $0.acknowledged < goal && (force || $0.isLapsed(at: now))
            }
            let isReached = try live.withState { connection, live in
                try Purger(connection, live: live).hasFingerprints(before: goal)
            }
            guard isReached else {
                throw SyncError(
                    .busy, "the fingerprints of the rows do not have all changes yet",
                    hint: "Run: synctool doctor DB --mend, then purge again")
            }
            if token != nil { try requireRecorded(before: goal) }
            return try purge(goal: goal, passed: passed)
        }
    }

    /// The number of the last transaction that a purge before `goal` deletes; nil: none.
    private func last(before goal: Int64) throws -> Int64? {
        try live.withState { connection, live in
            let purger = Purger(connection, live: live)
            return try purger.firstKept(before: goal).flatMap(purger.newest(before:))
        }
    }

    /// Whether the store is synchronised and has changes, in history or in the log, that are not
    /// recorded for other replicas yet: a purge leaves them.
    /// - Throws: the error of SQLite.
    package func hasUnrecordedChanges() throws -> Bool {
        let newest = try head().number
        return try live.withState { try Purger($0, live: $1).unrecorded() <= newest }
    }

    private func requireRecorded(before goal: Int64) throws {
        let isRecorded = try live.withState {
            try Purger($0, live: $1).isRecorded(before: goal)
        }
        guard !isRecorded else { return }
        throw SyncError(
            .stillNeeded,
            "history before \(goal) is still needed: not all of it is recorded for other replicas",
            hint: "Run: synctool sync DB, then purge again")
    }

    /// How long a purge digests first.
    private static let digestMax = Duration.seconds(30)

    /// Deletes the history before `goal`, even when a consumer needs it.
    func purge(goal: Int64, passed: [Consumer]) throws -> PurgeReport {
        let purged = try live.withState { try Purger($0, live: $1).begin(before: goal) }
        guard let purged else { return PurgeReport(transactions: 0, changes: 0, passed: []) }
        let changes = try slices { try $0.deleteChanges(upTo: purged) }
        let transactions = try slices { try $0.deleteHeaders(upTo: purged) }
        return PurgeReport(transactions: transactions, changes: changes, passed: passed)
    }

    private static let writersShareMax = Duration.milliseconds(50)

    /// Runs slices until one deletes nothing more. Between them the live connection is free: a
    /// purge of millions must not keep a notice waiting, nor lose the ends of commits made
    /// meanwhile. Writers get as much time as a slice took: they try the lock only at intervals.
    private func slices(_ slice: (Purger) throws -> Int) throws -> Int {
        var total = 0
        while true {
            let start = ContinuousClock.now
            let count = try live.withState { connection, live in
                _ = try live.pendingBoundaries()
                return try slice(Purger(connection, live: live))
            }
            // Not the time that the slice itself waited for the lock.
            let pause = min(start.duration(to: .now), Self.writersShareMax)
            usleep(UInt32(pause / .microseconds(1)))
            total += count
            if count == 0 { return total }
        }
    }

    private func checkOrigin(of token: Token) throws {
        guard token.store == id, token.epoch == epoch else {
            throw SyncError(
                .foreignHistory,
                "the token belongs to another store, or to an earlier file",
                hint: "Use a token from: synctool history DB --json")
        }
    }

    private func stillNeeded(by holding: [Consumer], before goal: Int64) -> SyncError {
        let names = holding.map {
            "\($0.name.printable(countMax: 60)) (acknowledged #\($0.acknowledged))"
        }
        return SyncError(
            .stillNeeded,
            "history before \(goal) is still needed by " + names.joined(separator: ", "),
            hint: "Wait until they have acknowledged it, remove them "
                + "(synctool consumers remove DB NAME), or use --force: they must then start over")
    }
}

/// Deletes history from its old end, in slices.
///
/// `syncd_meta.purged` is written before the first deletion: a reader whose token lies in what is
/// being deleted gets `historyExpired` from the first slice on, never half an answer.
///
/// A slice has one upper bound: of two SQLite takes one to seek by, and would read all the rows up
/// to it to test the other.
struct Purger {
    /// Numbers, not rows: most have gaps.
    private static let sliceTransactionsMax = 10_000
    /// Each change may lie on a page of its own in the index of objects.
    private static let sliceChangesMax: Int64 = 1_000
    /// With more frames than this the WAL is restarted, if it has no reader: beside a busy writer
    /// no ordinary checkpoint completes, and the file would grow with everything that is purged.
    private static let walFramesMax: UInt32 = 10_000

    private let connection: OpaquePointer
    private let live: LiveLog

    init(_ connection: OpaquePointer, live: LiveLog) {
        self.connection = connection
        self.live = live
    }

    /// Marks what will be deleted.
    ///
    /// - Returns: the last number that goes; nil when there is nothing to delete.
    func begin(before goal: Int64) throws -> Int64? {
        guard let first = try firstKept(before: goal) else { return nil }
        // A change that no fingerprint has could not be told from one that no trigger saw.
        let end = try min(first, fingerprinted(), unrecorded())
        guard let purged = try newest(before: end) else { return nil }
        _ = try commit {
            try live.metadata.set(.purged, to: .integer(purged))
            return 0
        }
        return purged
    }

    /// The first row that stays: the transaction that `goal` lies in stays, and so does the newest;
    /// nil without a transaction.
    func firstKept(before goal: Int64) throws -> Int64? {
        let kept = try Statement(TransactionTable.firstKeptSQL, on: connection)
        kept.bind(goal, at: 1)
        return try kept.step() ? kept.integerOrNil(0) : nil
    }

    /// The number of the newest transaction before `end`; nil: there is none.
    func newest(before end: Int64) throws -> Int64? {
        let newest = try Statement(TransactionTable.newestBeforeSQL, on: connection)
        newest.bind(end, at: 1)
        return try newest.step() ? newest.integerOrNil(0) : nil
    }

    /// Whether all changes before `goal` are in the fingerprints.
    func hasFingerprints(before goal: Int64) throws -> Bool {
        guard let last = try newest(before: goal) else { return true }
        return try last < fingerprinted()
    }

    /// Whether all changes before `goal` are recorded for other replicas, where there are such.
    func isRecorded(before goal: Int64) throws -> Bool {
        guard let last = try newest(before: goal) else { return true }
        return try last < unrecorded()
    }

    /// The first number that may not be recorded for other replicas yet: only from history they
    /// get it.
    func unrecorded() throws -> Int64 {
        try live.metadata.isStated() ? live.metadata.position(.stated) + 1 : .max
    }

    /// The first number that the fingerprints may lack.
    private func fingerprinted() throws -> Int64 {
        try FingerprintTable.exists(connection)
            ? live.metadata.position(.fingerprinted) + 1 : .max
    }

    /// Deletes the oldest changes; returns how many.
    func deleteChanges(upTo purged: Int64) throws -> Int {
        let delete = try Statement(
            ChangeTable.deleteSliceSQL(max: Self.sliceChangesMax), on: connection)
        return try commit {
            delete.bind(purged, at: 1)
            try delete.run()
            return delete.changes
        }
    }

    /// Deletes the oldest headers; returns how many.
    func deleteHeaders(upTo purged: Int64) throws -> Int {
        let headers = try HeaderPurge(connection, sliceMax: Self.sliceTransactionsMax)
        return try commit { try headers.deleteSlice(upTo: purged) }
    }

    private func commit(_ body: () throws -> Int) throws -> Int {
        let count = try RawTransaction.write(on: connection, didCommit: live.didCommit, body)
        restartLongLog()
        return count
    }

    /// First what can be copied beside writers, then the short rest without them. Never waits.
    private func restartLongLog() {
        guard let frames = live.walIndex?.header()?.frameCount, frames > Self.walFramesMax else {
            return
        }
        sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        sqlite3_busy_timeout(connection, 0)
        sqlite3_wal_checkpoint_v2(connection, "main", SQLITE_CHECKPOINT_RESTART, nil, nil)
        sqlite3_busy_timeout(connection, Int32(DatabaseOpener.busyTimeout.milliseconds))
    }
}

/// Deletes the oldest headers, and with the last transaction of an author the author.
private struct HeaderPurge {
    private let authors: Statement
    private let headers: Statement
    private let author: Statement

    init(_ connection: OpaquePointer, sliceMax: Int) throws {
        authors = try Statement(
            TransactionTable.authorIDsOfSliceSQL(max: sliceMax), on: connection)
        headers = try Statement(
            TransactionTable.deleteSliceSQL(max: sliceMax), on: connection)
        author = try Statement(TransactionTable.deleteUnusedAuthorSQL, on: connection)
    }

    func deleteSlice(upTo purged: Int64) throws -> Int {
        var gone: [Int64] = []
        authors.bind(purged, at: 1)
        while try authors.step() { gone.append(authors.integer(0)) }
        headers.bind(purged, at: 1)
        try headers.run()
        let count = headers.changes
        for id in gone { try author.run(.integer(id)) }
        return count
    }
}
