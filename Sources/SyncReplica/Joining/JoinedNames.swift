import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_join`: the identities of the rows with private numbers of a database that joins another
/// store, until they are recorded. Created by ``Store/join(_:to:by:)``, dropped when the rows are
/// recorded.
///
/// A row that is not in it gets a new identity.
struct JoinedNames {
    static let createSQL = StoreBlueprint.join

    private let names: [RowKey: ObjectUID]

    /// Reads the table; nil when the database has not just joined.
    /// - Throws: SQLite errors.
    /// - Complexity: O(rows of the table)
    init?(_ connection: OpaquePointer, schema: ReplicaSchema) throws {
        let exists = try Statement(
            "SELECT 1 FROM sqlite_schema WHERE name = 'syncd_join' AND type = 'table'",
            on: connection)
        guard try exists.step() else { return nil }
        exists.reset()
        let select = try Statement("SELECT entity, number, uid FROM syncd_join", on: connection)
        var names: [RowKey: ObjectUID] = [:]
        while try select.step() {
            guard let entity = schema.position(of: select.text(0) ?? ""),
                let uid: ObjectUID = select.identifier(2)
            else { continue }
            names[RowKey(entity: entity, [.integer(select.integer(1))])] = uid
        }
        self.names = names
    }

    /// The identity of the object of the other store that a row is.
    subscript(key: RowKey) -> ObjectUID? { names[key] }

    /// Drops the table.
    /// - Throws: SQLite errors.
    static func drop(_ connection: OpaquePointer) throws {
        try RawTransaction.execute("DROP TABLE IF EXISTS syncd_join", on: connection)
    }
}
