import CSQLite
import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Runs statements that change the schema, and records the tables as they are afterwards: all
    /// of it in one transaction, so that no change in between is missed.
    ///
    /// The triggers stay in place where possible, because SQLite updates them at a RENAME. A
    /// statement that fails because of them (`DROP COLUMN` of a recorded column) runs without them,
    /// and they are made again before the next one. Tables that the statements create are
    /// recorded when all tables are, and else left to ``track(entities:options:)``.
    ///
    /// - Returns: what had to be made right again.
    /// - Throws: `refused` with SQLite's message, or for a table of the store itself, and then
    ///   nothing has changed; `invalidArgument`
    ///   for statements that begin, end or leave a transaction; `notTracked`, `newerFormat`,
    ///   `busy`.
    @discardableResult
    package func alter(_ sql: String) throws -> [CaptureFinding] {
        try write("alter") { db in
            try StoreDamage.requireReadable(db)
            var rest = sql
            var findings: [CaptureFinding] = []
            while let statement = try Self.next(of: &rest) {
                try Self.requireUserTables(in: statement)
                findings += try run(statement, in: db)
            }
            if let damage = try StoreDamage.find(db) { throw Self.notTheirs(damage.missing.first) }
            return findings + (try repairCapture(db)).findings
        }
    }

    private func run(_ statement: String, in db: Database) throws -> [CaptureFinding] {
        do {
            try db.execute(sql: statement)
            return []
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_ERROR && Self.isAlter(statement)
        {
            // A capture trigger may depend on what the statement removes. Otherwise the second try
            // fails as well, and the transaction is rolled back.
            for entity in try EntityTable(db).live() { try dropTriggers(db, of: entity.id) }
            try db.execute(sql: statement)
            return try repairCapture(db, but: [.tableDropped, .newTable]).findings
        }
    }

    /// Statements may sign the transaction, and name no other table of the store. Text in single
    /// quotes may be a value: tables that were dropped by such a name are noticed afterwards.
    private static func requireUserTables(in statement: String) throws {
        for token in SQLTokens(statement).tokens where !token.text.hasPrefix("'") {
            let name = SQLName.folded(token.text.filter { !"\"`[]".contains($0) })
            if name.hasPrefix("syncd_"), name != "syncd_txn" { throw notTheirs(name) }
        }
    }

    private static func notTheirs(_ name: String?) -> SyncError {
        SyncError(
            .refused, "\(name ?? "a table of the store") belongs to syncd and cannot be altered",
            operation: "alter", hint: "To remove what tracking added, run: synctool untrack DB")
    }

    /// Only ALTER TABLE checks the triggers of the schema.
    private static func isAlter(_ statement: String) -> Bool {
        SQLTokens(statement).tokens.first?.isWord("ALTER") ?? false
    }

    /// Cuts the first statement off; nil when only blanks and comments are left.
    private static func next(of rest: inout String) throws -> String? {
        while true {
            let tokens = SQLTokens(rest).tokens
            guard let first = tokens.first else { return nil }
            if first.text == ";" {
                rest = String(decoding: Array(rest.utf8)[first.range.upperBound...], as: UTF8.self)
                continue
            }
            if transactional.contains(where: first.isWord) {
                throw SyncError(
                    .invalidArgument, "\(first.text) cannot run inside the transaction of alter",
                    operation: "alter", hint: "Leave it out: all statements run in one transaction")
            }
            let length = length(ofFirst: rest)
            let bytes = Array(rest.utf8)
            rest = String(decoding: bytes[length...], as: UTF8.self)
            return String(decoding: bytes[..<length], as: UTF8.self)
        }
    }

    private static let transactional = [
        "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "VACUUM", "ATTACH", "DETACH",
    ]

    /// How many bytes the first statement takes, its semicolon included.
    private static func length(ofFirst sql: String) -> Int {
        // A statement of several parts (CREATE TRIGGER) is whole at the first semicolon for which
        // sqlite3_complete says so.
        let tokens = SQLTokens(sql).tokens
        let bytes = Array(sql.utf8)
        for token in tokens where token.text == ";" {
            let head = String(decoding: bytes[..<token.range.upperBound], as: UTF8.self)
            if sqlite3_complete(head) != 0 { return token.range.upperBound }
        }
        return bytes.count
    }
}
