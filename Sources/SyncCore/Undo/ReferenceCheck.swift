import CSQLite
import SyncStorage
import SyncValues

/// Names the references that lead nowhere, before the commit that would fail for them with nothing
/// but "FOREIGN KEY constraint failed".
struct ReferenceCheck {
    private let connection: OpaquePointer
    private let tables: [TableSchema]

    init(_ connection: OpaquePointer, tables: [TableSchema]) {
        self.connection = connection
        self.tables = tables
    }

    /// - Throws: `refused` when the transaction that the connection is in breaks a foreign key.
    /// - Complexity: O(1) when it does not; else O(rows that have foreign keys).
    func run() throws {
        var broken: Int32 = 0
        var unused: Int32 = 0
        let status = sqlite3_db_status(
            connection, SQLITE_DBSTATUS_DEFERRED_FKS, &broken, &unused, 0)
        guard status == SQLITE_OK, broken != 0 else { return }
        var found: [String] = []
        // A writer that does not enforce foreign keys may have left others that lead nowhere.
        for table in tables where !table.foreignKeys.isEmpty {
            let select = try Statement(
                "PRAGMA main.foreign_key_check(\(SQLName.quoted(table.name)))", on: connection)
            while found.count < 3, try select.step() {
                found.append(
                    try name(of: table, rowID: select.integerOrNil(1), parent: select.text(2) ?? "")
                )
            }
            select.reset()
        }
        throw SyncError(
            .refused,
            "foreign keys would refer to missing objects"
                + (found.isEmpty ? "" : ": " + found.joined(separator: ", ")),
            hint:
                "Nothing was written. First restore the objects they refer to: synctool restore DB "
                + "ENTITY/KEY. Or restore the objects one by one: then a reference to a missing "
                + "object becomes NULL where the schema allows it")
    }

    /// `album/10 to an object of label`
    private func name(
        of table: TableSchema, rowID: Int64?, parent: String
    ) throws -> String {
        let target = " to an object of \(parent)"
        guard let rowID, let rowIDName = table.rowIDName, !table.key.isEmpty else {
            return "a row of \(table.name)" + target
        }
        let key = table.key.map(SQLName.quoted).joined(separator: ", ")
        let row = try Statement(
            "SELECT \(key) FROM \(SQLName.quoted(table.name)) WHERE \(rowIDName) = ?",
            on: connection)
        row.bind(rowID, at: 1)
        guard try row.step() else { return "a row of \(table.name)" + target }
        return "\(table.name)/"
            + "\(ObjectKey(table.key.indices.map { row.value(Int32($0)) }))" + target
    }
}
