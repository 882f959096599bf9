import GRDB
import SyncStorage
import SyncValues

/// The rows in which a column that is new since the last layout has another value than it was
/// added with: it was written before it was recorded.
struct AddedColumns {
    /// The columns that are new.
    private(set) var mask = ColumnMask()
    private var keys: Set<Value> = []

    init(_ database: Database, of now: TrackedEntity, catalog: EntityCatalog) throws {
        guard let previous = now.layout.previous, let connection = database.sqliteConnection,
            let names = try catalog.names(of: previous, in: now)
        else { return }
        let table = try SchemaReader(database).table(now.name)
        var conditions: [String] = []
        for (position, name) in now.columnNames.enumerated() where !names.contains(name) {
            mask.insert(position)
            let value = table?.column(name)?.defaultSQL ?? "NULL"
            // Values of two storage classes, and texts that a collation takes for equal, differ.
            let column = SQLName.quoted(name)
            conditions.append("\(column) COLLATE BINARY IS NOT (\(value))")
        }
        guard !conditions.isEmpty else { return }
        let select = try Statement(
            "SELECT \(now.layout.key.map(SQLName.quoted).joined(separator: ", ")) "
                + "FROM \(SQLName.quoted(now.name)) WHERE "
                + conditions.joined(separator: " OR "), on: connection)
        while try select.step() {
            let key = now.layout.key.indices.map { select.value(Int32($0)) }
            if !key.contains(.null) { keys.insert(NetChange.storedKey(ObjectKey(key))) }
        }
    }

    /// The keys of these rows, always in the same order.
    var sortedKeys: [Value] { keys.sorted { $0.description < $1.description } }

    func contains(_ key: Value) -> Bool { keys.contains(key) }
}
