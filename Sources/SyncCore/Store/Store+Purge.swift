import CSQLite
import Glibc
import SyncStorage
import SyncValues

/// What a purge removed, and who was passed over.
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
    /// Who still needs what: a live reader or peer needs everything after what it acknowledged; one
    /// that never acknowledged needs everything. A lapsed lease lets the purge pass.
    ///
    /// - Parameters:
    ///   - before: nil: as far as the live consumers allow.
    ///   - force: passes live consumers; each of them has to resync.
    /// - Throws: ``SyncError``: `stillNeeded` naming who holds it back, `foreignHistory`, `busy`.
    /// - Complexity: O(changes removed), in slices that hold writers up for about 5 ms each.
    @discardableResult
    public func purge(before token: Token? = nil, force: Bool = false) throws -> PurgeReport {
        try explaining("purge") {
            _ = try digest()
            if let token { try checkOrigin(of: token) }
            let now = Timestamp.now()
            let consumers = try consumers()
            let holding = consumers.filter { $0.holdsHistory(at: now) }
            let floor = holding.map(\.acknowledged).min()
            let goal = token?.number ?? floor ?? .max
            if let floor, goal > floor, !force {
                throw stillNeeded(holding.filter { $0.acknowledged < goal }, goal)
            }
            let passed = consumers.filter {
                $0.kind != .writer && $0.acknowledged < goal && (force || $0.isLapsed(at: now))
            }
            return try purge(goal: goal, passed: passed)
        }
    }

    /// Deletes what lies before `goal`, whoever needs it.
    func purge(goal: Int64, passed: [Consumer]) throws -> PurgeReport {
        let purged = try live.withState { try Purger($0, $1).begin(before: goal) }
        guard let purged else { return PurgeReport(transactions: 0, changes: 0, passed: []) }
        let changes = try slices { try $0.deleteChanges(upTo: purged) }
        let transactions = try slices { try $0.deleteHeaders(upTo: purged) }
        return PurgeReport(transactions: transactions, changes: changes, passed: passed)
    }

    private static let writersShareMax = Duration.milliseconds(50)

    /// Runs slices until one deletes nothing more. Between them the live connection is free: a
    /// purge of millions must not keep a notice waiting, nor lose the ends of commits made
    /// meanwhile. Writers get as much time as a slice took: they look only now and then whether the
    /// lock is free.
    private func slices(_ slice: (Purger) throws -> Int) throws -> Int {
        var total = 0
        while true {
            let start = ContinuousClock.now
            let count = try live.withState { connection, live in
                _ = try live.pendingBoundaries()
                return try slice(Purger(connection, live))
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
                "the token is of another store, or from before this one was replaced",
                hint: "Take a token of: synctool history DB --json")
        }
    }

    private func stillNeeded(_ holding: [Consumer], _ goal: Int64) -> SyncError {
        let names = holding.map { "\($0.name) (read up to \($0.acknowledged))" }
        return SyncError(
            .stillNeeded,
            "history before \(goal) is still needed by " + names.joined(separator: ", "),
            hint: "Let them catch up, remove them (synctool consumers DB remove NAME), or use "
                + "--force: they have to resync then")
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
    /// From so many frames on the WAL is begun anew, if nobody reads it: beside a busy writer no
    /// ordinary checkpoint gets to its end, and the file would grow with all that is purged.
    private static let walFramesMax: UInt32 = 10_000

    private let connection: OpaquePointer
    private let live: LiveLog

    init(_ connection: OpaquePointer, _ live: LiveLog) {
        self.connection = connection
        self.live = live
    }

    /// Marks what will be deleted.
    ///
    /// - Returns: the last number that goes; nil when there is nothing to delete.
    func begin(before goal: Int64) throws -> Int64? {
        // The transaction that the goal lies in stays, and so does the newest.
        let kept = try Statement(
            connection,
            """
            SELECT coalesce((SELECT first FROM syncd_transaction WHERE number >= ?1
              ORDER BY number LIMIT 1),
              (SELECT first FROM syncd_transaction ORDER BY number DESC LIMIT 1))
            """)
        kept.bind(1, goal)
        guard try kept.step(), let first = kept.integerOrNil(0) else { return nil }
        kept.reset()
        let newest = try Statement(
            connection, "SELECT max(number) FROM syncd_transaction WHERE number < ?1")
        newest.bind(1, first)
        guard try newest.step(), let purged = newest.integerOrNil(0) else { return nil }
        newest.reset()
        _ = try commit {
            try live.settings.set(.purged, .integer(purged))
            return 0
        }
        return purged
    }

    /// Deletes the oldest changes; returns how many.
    func deleteChanges(upTo purged: Int64) throws -> Int {
        let delete = try Statement(
            connection,
            """
            DELETE FROM syncd_change
            WHERE seq <= min(?1, (SELECT min(seq) FROM syncd_change) + \(Self.sliceChangesMax))
            """)
        return try commit {
            delete.bind(1, purged)
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
        let count = try RawTransaction.write(connection, didCommit: live.didCommit, body)
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
        sqlite3_busy_timeout(connection, Int32(StoreConnection.busyTimeoutSeconds * 1000))
    }
}

/// Deletes the oldest headers, and with the last transaction of an author the author.
private struct HeaderPurge {
    private let authors: Statement
    private let headers: Statement
    private let author: Statement

    init(_ connection: OpaquePointer, sliceMax: Int) throws {
        let slice = """
            number <= min(?1, (SELECT min(number) FROM syncd_transaction) + \(sliceMax))
            """
        authors = try Statement(
            connection,
            """
            SELECT DISTINCT who FROM syncd_transaction NOT INDEXED
            WHERE \(slice) AND who IS NOT NULL
            """)
        headers = try Statement(connection, "DELETE FROM syncd_transaction WHERE \(slice)")
        author = try Statement(
            connection,
            """
            DELETE FROM syncd_who WHERE id = ?1
            AND NOT EXISTS (SELECT 1 FROM syncd_transaction WHERE who = ?1)
            """)
    }

    func deleteSlice(upTo purged: Int64) throws -> Int {
        var gone: [Int64] = []
        authors.bind(1, purged)
        while try authors.step() { gone.append(authors.integer(0)) }
        headers.bind(1, purged)
        try headers.run()
        let count = headers.changes
        for id in gone { try author.run(.integer(id)) }
        return count
    }
}
