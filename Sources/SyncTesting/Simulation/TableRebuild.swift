import SyncCore

/// The steps of https://www.sqlite.org/lang_altertable.html, 7, with plain SQL.
struct TableRebuild {
    private let table: String
    private let store: SimulatedStore
    /// What follows the name in the CREATE statement.
    private let definition: String
    private let indexes: [String]

    /// Reads how a table is.
    init(_ table: String, in store: SimulatedStore) throws {
        if store.hasUnseenNames { try store.see() }
        self.table = table
        self.store = store
        let sql = try store.database.run(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", with: [.text(table)])
        guard case .text(let sql)? = sql?.first?[0], let columns = sql.firstIndex(of: "(") else {
            throw SimulationFailure("there is no table \(table)")
        }
        definition = String(sql[columns...])
        let indexes = try store.database.run(
            "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL "
                + "AND tbl_name = ?", with: [.text(table)])
        self.indexes = (indexes ?? []).compactMap { row in
            if case .text(let sql) = row[0] { return sql }
            return nil
        }
    }

    /// Makes the table again.
    /// - Parameters:
    ///   - isAtOnce: in one transaction.
    ///   - number: differs from call to call: a pragma takes effect when it is compiled.
    ///   - dropped: a column that it has no more.
    ///   - asCommand: as a command does it, not another program.
    ///   - change: changes what follows the name in the CREATE statement.
    func run(
        isAtOnce: Bool, number: Int, without dropped: String? = nil, asCommand: Bool = false,
        _ change: (String) throws -> String = { $0 }
    ) throws {
        let database = store.database
        let own = try database.run(
            "SELECT group_concat(name) FROM pragma_table_xinfo(?) WHERE hidden = 0 AND name <> ?",
            with: [.text(table), .text(dropped ?? "")])
        guard case .text(let own)? = own?.first?[0] else {
            throw SimulationFailure("\(table) has no columns")
        }
        let statements =
            [
                "CREATE TABLE rebuilt\(try change(definition))",
                "INSERT INTO rebuilt(\(own)) SELECT \(own) FROM \(table)",
                "DROP TABLE \(table)", "ALTER TABLE rebuilt RENAME TO \(table)",
            ] + indexes
        if asCommand {
            _ = try Store.alter(store.path, running: statements.joined(separator: "; "))
            return try store.willCommit()
        }
        store.hasLostTriggers = true
        try database.run("PRAGMA foreign_keys = OFF -- \(number)")
        if isAtOnce { try database.run("BEGIN IMMEDIATE") }
        for statement in statements { try database.run(statement) }
        try store.willCommit()
        if isAtOnce { try database.run("COMMIT") }
        try database.run("PRAGMA foreign_keys = ON -- \(number)")
    }
}
