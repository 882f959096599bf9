import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_join`: what a database that joins another store calls its rows with private numbers,
/// until they are stated. Made by ``Store/join(_:to:by:)``, gone with the first statement.
///
/// A row that is not in it gets an identity of its own: without that, a row of before history would
/// be taken for the other store's row of that number.
struct JoinedNames {
    static let createSQL = StoreBlueprint.join

    private let names: [RowKey: ObjectUID]

    /// Reads the table.
    /// - Returns: nil when the database has not just joined.
    init?(_ connection: OpaquePointer, _ schema: ReplicaSchema) throws {
        let exists = try Statement(
            connection, "SELECT 1 FROM sqlite_schema WHERE name = 'syncd_join' AND type = 'table'")
        guard try exists.step() else { return nil }
        exists.reset()
        let select = try Statement(connection, "SELECT entity, number, uid FROM syncd_join")
        var names: [RowKey: ObjectUID] = [:]
        while try select.step() {
            guard let entity = schema.position(of: select.text(0) ?? ""),
                let uid = ObjectUID(bytes: select.blob(2) ?? [])
            else { continue }
            names[RowKey(entity: entity, [.integer(select.integer(1))])] = uid
        }
        self.names = names
    }

    /// The identity of a row of before the join.
    /// - Parameter replica: who joins.
    func uid(of key: RowKey, entity: String, store: StoreID, replica: ReplicaID) -> ObjectUID {
        if let name = names[key] { return name }
        return PrivateIdentity.uid(
            store: store, replica: replica, entity: entity, key: key.values[0],
            birth: .beforeJoin)
    }

    /// Drops the table: everything is stated.
    static func drop(_ connection: OpaquePointer) throws {
        try RawTransaction.execute(connection, "DROP TABLE IF EXISTS syncd_join")
    }
}
