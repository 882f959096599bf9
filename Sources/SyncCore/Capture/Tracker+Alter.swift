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
    /// BEGIN and COMMIT, which other tools print around their statements, are left out.
    ///
    /// - Parameter verify: gets the database as it is afterwards, and may refuse it.
    /// - Returns: what had to be made right again, and the tables of which only the presence of
    ///   rows was compared (`partlyCompared`).
    /// - Throws: `refused` with SQLite's message, for a table of the store itself, or when a table
    ///   could not be recorded any more, and then nothing has changed; `invalidArgument` when there
    ///   is no statement, and for statements that leave the transaction; `notTracked`,
    ///   `newerFormat`, `busy`; what `verify` throws.
    @discardableResult
    package func alter(
        _ sql: String, verifying verify: (Database) throws -> Void = { _ in }
    ) throws -> [CaptureFinding] {
        try write("alter") { db in
            try StoreDamage.requireReadable(db)
            var rest = sql
            // A rename leaves its trace in the triggers: a table that was rebuilt gets them first.
            var findings = try repairPresent(db)
            let before = try EntityTable(db).live()
            var isEmpty = true
            while let statement = try Self.next(of: &rest) {
                try Self.requireUserTables(in: statement)
                findings += try run(statement, in: db)
                isEmpty = false
            }
            guard !isEmpty else { throw Self.nothingToRun }
            if let damage = try StoreDamage.find(db) { throw Self.notTheirs(damage.missing.first) }
            try requireRecordable(before, in: db)
            let report = try repairCapture(db)
            try verify(db)
            return findings + report.findings + report.partlyComparedFindings
                + report.unreadableFindings
        }
    }

    /// Changes the schema as `body` does, and records the tables as they are afterwards: all of it
    /// in one transaction, like ``alter(_:verifying:)``.
    /// - Parameters:
    ///   - renames: ALTER TABLE … RENAME, before `body`: the tables are recorded under their new
    ///     names before their columns change in another way.
    ///   - body: may leave the connection confined and without its authorizer.
    /// - Throws: as ``alter(_:verifying:)``; what `body` throws, and then nothing has changed.
    package func alter<Result>(
        running renames: [String] = [], making body: (Database) throws -> Result
    ) throws -> Result {
        try write("alter") { db in
            try StoreDamage.requireReadable(db)
            if !renames.isEmpty {
                _ = try repairPresent(db)
                for statement in renames { _ = try run(statement, in: db) }
                try repairCapture(db, but: [.tableDropped, .newTable], isNothingMissed: true)
            }
            let before = try EntityTable(db).live()
            let result = try body(db)
            if let damage = try StoreDamage.find(db) { throw Self.notTheirs(damage.missing.first) }
            try requireRecordable(before, in: db)
            try repairCapture(db)
            return result
        }
    }

    private func run(_ statement: String, in db: Database) throws -> [CaptureFinding] {
        do {
            try db.execute(sql: statement)
            return []
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            guard Self.isAlter(statement) else { throw Self.refused(error) }
            // A capture trigger may depend on what the statement removes. Otherwise the second try
            // fails as well, and the transaction is rolled back.
            // What was missed before is found while the columns are those that were recorded.
            let before = try repairPresent(db)
            for entity in try EntityTable(db).live() { try dropTriggers(db, of: entity.id) }
            do { try db.execute(sql: statement) } catch let error as DatabaseError {
                throw Self.refused(error)
            }
            // ALTER TABLE writes to no row of another table, and nobody else writes meanwhile.
            let after = try repairCapture(
                db, but: [.tableDropped, .newTable], isNothingMissed: true)
            return before + after.findings
        }
    }

    /// Makes the triggers right of the tables that are recorded and here, and remembers the schema.
    ///
    /// - Throws: as ``alter(_:verifying:)``.
    func repairPresent() throws -> [CaptureFinding] {
        try write("alter") { db in
            try StoreDamage.requireReadable(db)
            return try repairPresent(db)
        }
    }

    /// Makes the triggers right of the tables that are recorded and here.
    private func repairPresent(_ db: Database) throws -> [CaptureFinding] {
        try repairCapture(db, but: [.tableDropped, .newTable]).findings
    }

    /// Statements may sign the transaction, and name no other table of the store. Text in single
    /// quotes may be a value: tables that were dropped by such a name are noticed afterwards.
    private static func requireUserTables(in statement: String) throws {
        for token in SQLTokens(statement).tokens where !token.text.hasPrefix("'") {
            let name = SQLName.folded(token.text.filter { !"\"`[]".contains($0) })
            if name.hasPrefix("syncd_"), name != "syncd_txn" { throw notTheirs(name) }
        }
    }

    private static let nothingToRun = SyncError(
        .invalidArgument, "there is no statement to run", operation: "alter",
        hint: "Give the statements as one argument: synctool alter DB \"ALTER TABLE …\"")

    /// SQLite puts the name of a column between quotes as it was written, quotes included.
    private static func refused(_ error: DatabaseError) -> any Error {
        guard let message = error.message, message.contains(": \"\""), message.hasSuffix("\"\"")
        else { return error }
        return SyncError(
            .refused,
            message.replacing(": \"\"", with: ": \"", maxReplacements: 1).dropLast()
                + (error.sql.map { " in \($0.prefix(200))" } ?? ""))
    }

    /// Refuses a schema in which a table could not be recorded any more.
    private func requireRecordable(_ entities: [TrackedEntity], in db: Database) throws {
        let present = Dictionary(grouping: try PresentTrigger.all(db), by: \.entity)
        let tables = try SchemaReader(db).tables()
        for entity in entities {
            let name = present[entity.id]?.first?.table ?? entity.name
            guard let table = tables.first(where: { SQLName.isEqual($0.name, to: name) }),
                let reason = Self.reasonToLeaveAlone(table)
            else { continue }
            throw SyncError(
                .refused, "\(table.name) could not be tracked any more: \(reason.explanation)",
                operation: "alter",
                hint:
                    "Nothing was changed. Give the new table a PRIMARY KEY; or run the statements "
                    + "in another program: then \(table.name) is no longer recorded")
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
            if outer.contains(where: first.isWord) {
                // BEGIN, and what ends it: the statements run in one transaction anyway.
                let end = tokens.first { $0.text == ";" }?.range.upperBound
                rest = end.map { String(decoding: Array(rest.utf8)[$0...], as: UTF8.self) } ?? ""
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

    private static let outer = ["BEGIN", "COMMIT", "END"]
    private static let transactional = [
        "ROLLBACK", "SAVEPOINT", "RELEASE", "VACUUM", "ATTACH", "DETACH",
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
