import CSQLite
import SyncStorage
import SyncValues

/// Names the references that lead nowhere, before the commit that would fail for them with nothing
/// but "FOREIGN KEY constraint failed".
struct ReferenceCheck {
    private let connection: OpaquePointer
    private let tables: [TableSchema]

    init(_ connection: OpaquePointer, _ tables: [TableSchema]) {
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
                connection, "PRAGMA main.foreign_key_check(\(SQLName.quoted(table.name)))")
            while found.count < 3, try select.step() {
                found.append(try name(table, select.integerOrNil(1), select.text(2) ?? ""))
            }
            select.reset()
        }
        throw SyncError(
            .refused,
            "references would lead to objects that are not there"
                + (found.isEmpty ? "" : ": " + found.joined(separator: ", ")),
            hint: "Nothing was written. Bring back what they refer to first, with: synctool "
                + "restore DB ENTITY/KEY; or restore the objects one by one: a reference to what "
                + "is gone becomes NULL where the schema allows it")
    }

    /// `album/10 to an object of label`
    private func name(
        _ table: TableSchema, _ rowID: Int64?, _ parent: String
    ) throws -> String {
        let target = " to an object of \(parent)"
        guard let rowID, let rowIDName = table.rowIDName, !table.key.isEmpty else {
            return "a row of \(table.name)" + target
        }
        let key = table.key.map(SQLName.quoted).joined(separator: ", ")
        let row = try Statement(
            connection,
            "SELECT \(key) FROM \(SQLName.quoted(table.name)) WHERE \(rowIDName) = ?")
        row.bind(1, rowID)
        guard try row.step() else { return "a row of \(table.name)" + target }
        return "\(table.name)/"
            + "\(ObjectKey(table.key.indices.map { row.value(Int32($0)) }))" + target
    }
}
