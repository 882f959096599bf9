import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Counts what `syncd_unknown` keeps, and finds out what it waits for.
struct WaitingFacts {
    private let connection: OpaquePointer
    private let schema: ReplicaSchema

    init(_ connection: OpaquePointer, _ schema: ReplicaSchema) {
        self.connection = connection
        self.schema = schema
    }

    /// Whether anything waits.
    static func exist(_ connection: OpaquePointer) throws -> Bool {
        guard try ReplicationTables.exist(connection) else { return false }
        return try Statement(connection, "SELECT 1 FROM syncd_unknown LIMIT 1").step()
    }

    /// What waits, by table.
    func changes() throws -> [WaitingChanges] {
        // A fact begins with the 16 bytes of its object.
        let select = try Statement(
            connection,
            """
            SELECT max(entity), count(*) FROM (
              SELECT DISTINCT entity, replica, number, substr(fact, 1, 16) FROM syncd_unknown)
            GROUP BY lower(entity) ORDER BY lower(entity)
            """)
        var counts: [(entity: String, count: Int)] = []
        while try select.step() {
            counts.append((select.text(0) ?? "", Int(clamping: select.integer(1))))
        }
        return try counts.map {
            WaitingChanges(entity: $0.entity, count: $0.count, reason: try reason($0.entity))
        }
    }

    private func reason(_ entity: String) throws -> WaitingChanges.Reason {
        guard let position = schema.position(of: entity) else {
            let table = try Statement(
                connection,
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)")
            table.bind(1, entity)
            return try table.step() ? .notTracked : .noTable
        }
        let select = try Statement(
            connection, "SELECT DISTINCT columns FROM syncd_unknown WHERE lower(entity) = lower(?1)"
        )
        select.bind(1, entity)
        var names: Set<String> = []
        while try select.step() {
            let text = select.text(0) ?? "[]"
            names.formUnion(try JSONDecoder().decode([String].self, from: Data(text.utf8)))
        }
        let missing = names.filter { schema.column($0, of: position) == nil }
        return missing.isEmpty
            ? .otherConstraints(names.sorted()) : .noColumns(missing.sorted())
    }
}
