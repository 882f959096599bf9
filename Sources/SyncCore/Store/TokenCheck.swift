import SyncStorage
import SyncValues

/// Tells whether history is whole after a token, within the read transaction that the reader is in.
struct TokenCheck {
    private let reader: PreparedReader
    private let identity: StoreIdentity

    init(_ reader: PreparedReader, identity: StoreIdentity) {
        self.reader = reader
        self.identity = identity
    }

    /// - Throws: `historyExpired`, `foreignHistory`.
    func check(_ token: Token?) throws {
        guard let token else { return }
        guard token.store == identity.store else {
            throw foreign(
                "the token belongs to store \(token.store), this is store \(identity.store)")
        }
        guard token.epoch == identity.epoch else {
            throw foreign("the file was copied, restored or replaced since the token")
        }
        let purged = try reader.metadata.position(.purged)
        guard token.number > purged || purged == 0 else {
            throw SyncError(
                .historyExpired,
                "transactions after number \(token.number) were purged (up to \(purged))",
                hint: "Read the current objects, then continue from the newest token")
        }
        guard token.number > 0 else { return }
        guard let time = try time(of: token.number) else {
            throw foreign("there is no transaction \(token.number) in this history")
        }
        guard let time else { return }
        guard Token.check(of: time) == token.check else {
            throw foreign("transaction \(token.number) is not the transaction of the token")
        }
    }

    /// The time of a transaction; `.some(nil)` when commits ran together around it, so that it is
    /// part of another one now.
    private func time(of number: Int64) throws -> Timestamp?? {
        let header = try Statement(TransactionTable.headerSQL, on: reader.connection)
        header.bind(number, at: 1)
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
        let row = try Statement(LogTable.timeSQL, on: reader.connection)
        row.bind(number, at: 1)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return .some(row.isNull(0) ? nil : Timestamp(julianDay: row.real(0)))
    }

    private func foreign(_ reason: String) -> SyncError {
        SyncError(
            .foreignHistory, reason,
            hint: "Read the current objects, then continue from the newest token")
    }
}
