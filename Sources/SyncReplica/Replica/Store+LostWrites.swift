import GRDB
import SyncCore
import SyncStorage
import SyncValues

extension Store {
    /// The rows that were written to tables after they were last recorded for other replicas, and
    /// that the tables had when another program dropped them: what was written to them is nowhere.
    /// - Parameter tables: the tables that were dropped.
    /// - Returns: by table, how many; none where there are no such rows, and in a store that was
    ///   never synchronised.
    /// - Throws: ``SyncError``: as ``open(_:)``; `corrupt`, `badData` for changes that cannot be
    ///   read.
    /// - Complexity: O(changes since then)
    package static func lostWrites(_ path: String, to tables: [String]) throws -> [String: Int] {
        guard !tables.isEmpty else { return [:] }
        let store = try open(path)
        defer { try? store.close() }
        while try store.digest() {}
        let names = Dictionary(tables.map { (SQLName.folded($0), $0) }) { first, _ in first }
        return try store.explaining("check") {
            try store.reading.read { reader in
                let connection = reader.connection
                let settings = Metadata(connection)
                guard try SchemaReader.hasTable("syncd_header", on: connection),
                    try settings.value(.stated) != .null
                else { return [:] }
                return try lostWrites(to: names, after: settings.position(.stated), on: connection)
            }
        }
    }

    /// - Parameter names: of the tables, by their folded names.
    private static func lostWrites(
        to names: [String: String], after stated: Int64, on connection: OpaquePointer
    ) throws -> [String: Int] {
        let catalog = try EntityCatalog(connection)
        let unrecorded = try UnrecordedTransactions(connection, catalog: catalog)
        let entries = try unrecorded.entries(
            after: stated, limits: PartitionLimits(), measuredBy: nil
        ).filter(\.isLocal)
        var rows: [String: Set<ObjectKey>] = [:]
        for entry in entries {
            try unrecorded.forEachChange(
                of: entry, where: { entity, _ in names[SQLName.folded(entity.name)] != nil }
            ) { change in
                guard let name = names[SQLName.folded(change.entity.name)] else { return }
                if change.kind == .delete {
                    rows[name]?.remove(change.key)
                } else {
                    rows[name, default: []].insert(change.key)
                }
            }
        }
        return rows.mapValues(\.count).filter { $0.value > 0 }
    }
}
