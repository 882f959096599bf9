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
            return try live.withState { connection, live in
                try Purger(connection, live.settings).purge(before: goal, passed: passed)
            }
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
struct Purger {
    /// Numbers, not rows: most have gaps.
    private static let sliceTransactionsMax = 10_000
    private static let sliceChangesMax: Int64 = 10_000

    private let connection: OpaquePointer
    private let settings: Settings

    init(_ connection: OpaquePointer, _ settings: Settings) {
        self.connection = connection
        self.settings = settings
    }

    func purge(before goal: Int64, passed: [Consumer]) throws -> PurgeReport {
        // The transaction that the goal lies in stays, and so does the newest.
        let kept = try Statement(
            connection,
            """
            SELECT coalesce((SELECT first FROM syncd_transaction WHERE number >= ?1
              ORDER BY number LIMIT 1),
              (SELECT first FROM syncd_transaction ORDER BY number DESC LIMIT 1))
            """)
        kept.bind(1, goal)
        guard try kept.step(), let first = kept.integerOrNil(0) else {
            return PurgeReport(transactions: 0, changes: 0, passed: [])
        }
        kept.reset()
        let newest = try Statement(
            connection, "SELECT max(number) FROM syncd_transaction WHERE number < ?1")
        newest.bind(1, first)
        guard try newest.step(), let purged = newest.integerOrNil(0) else {
            return PurgeReport(transactions: 0, changes: 0, passed: [])
        }
        newest.reset()
        try RawTransaction.write(connection) { try settings.set(.purged, .integer(purged)) }
        let deleteChanges = try Statement(
            connection,
            """
            DELETE FROM syncd_change WHERE seq <= ?1
            AND seq < (SELECT min(seq) FROM syncd_change) + \(Self.sliceChangesMax)
            """)
        let changes = try slices { try delete(deleteChanges, purged) }
        let headers = try HeaderPurge(connection, sliceMax: Self.sliceTransactionsMax)
        let transactions = try slices { try headers.deleteSlice(upTo: purged) }
        return PurgeReport(transactions: transactions, changes: changes, passed: passed)
    }

    private func delete(_ statement: Statement, _ purged: Int64) throws -> Int {
        statement.bind(1, purged)
        try statement.run()
        return statement.changes
    }

    /// Runs `slice` in a transaction of its own until it deletes nothing more.
    private func slices(_ slice: () throws -> Int) throws -> Int {
        var total = 0
        while true {
            let count = try RawTransaction.write(connection, slice)
            total += count
            if count == 0 { return total }
        }
    }
}

/// Deletes the oldest headers, and with the last transaction of an author the author.
private struct HeaderPurge {
    private let authors: Statement
    private let headers: Statement
    private let author: Statement

    init(_ connection: OpaquePointer, sliceMax: Int) throws {
        let slice = """
            number <= ?1
            AND number < (SELECT min(number) FROM syncd_transaction) + \(sliceMax)
            """
        authors = try Statement(
            connection,
            "SELECT DISTINCT who FROM syncd_transaction WHERE \(slice) AND who IS NOT NULL")
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
