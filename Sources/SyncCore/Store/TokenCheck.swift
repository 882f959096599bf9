import SyncStorage
import SyncValues

/// Tells whether history is whole after a token, within the read transaction that the reader is in.
struct TokenCheck {
    private let reader: ReadingConnection.Prepared
    private let identity: StoreIdentity

    init(_ reader: ReadingConnection.Prepared, _ identity: StoreIdentity) {
        self.reader = reader
        self.identity = identity
    }

    /// - Throws: `historyExpired`, `foreignHistory`.
    func check(_ token: Token?) throws {
        guard let token else { return }
        guard token.store == identity.store else {
            throw foreign("the token is of the store \(token.store), this one is \(identity.store)")
        }
        guard token.epoch == identity.epoch else {
            throw foreign("the token is from before this file was copied, restored or replaced")
        }
        let purged = try reader.settings.position(.purged)
        guard token.number > purged || purged == 0 else {
            throw SyncError(
                .historyExpired,
                "transactions after number \(token.number) were purged (up to \(purged))",
                hint: "Read the present objects, then go on from the newest token")
        }
        guard token.number > 0 else { return }
        guard let time = try time(of: token.number) else {
            throw foreign("there is no transaction \(token.number) in this history")
        }
        guard let time else { return }
        guard Token.check(of: time) == token.check else {
            throw foreign("transaction \(token.number) is another one than the token's")
        }
    }

    /// The time of a transaction; `.some(nil)` when commits ran together around it, so that it is
    /// part of another one now.
    private func time(of number: Int64) throws -> Timestamp?? {
        let header = try Statement(
            reader.connection,
            """
            SELECT number, first, time FROM syncd_transaction WHERE number >= ?1
            ORDER BY number LIMIT 1
            """)
        header.bind(1, number)
        defer { header.reset() }
        if try header.step() {
            if header.integer(0) == number {
                return .some(Timestamp(milliseconds: header.integer(2)))
            }
            return header.integer(1) <= number ? .some(nil) : nil
        }
        return try timeInLog(number)
    }

    private func timeInLog(_ number: Int64) throws -> Timestamp?? {
        let row = try Statement(
            reader.connection,
            """
            SELECT (SELECT ts FROM syncd_log WHERE seq <= ?1 AND ts IS NOT NULL
                    ORDER BY seq DESC LIMIT 1)
            FROM syncd_log WHERE seq = ?1
            """)
        row.bind(1, number)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return .some(row.isNull(0) ? nil : Timestamp(julianDay: row.real(0)))
    }

    private func foreign(_ reason: String) -> SyncError {
        SyncError(
            .foreignHistory, reason,
            hint: "Read the present objects, then go on from the newest token")
    }
}
