import SyncMerge
import SyncStorage

/// The facts that ``UnknownFacts`` keeps, counted by table, with what the schema lacks for them.
struct WaitingFacts {
    private let connection: OpaquePointer
    private let schema: ReplicaSchema

    init(_ connection: OpaquePointer, schema: ReplicaSchema) {
        self.connection = connection
        self.schema = schema
    }

    /// The waiting changes, by table.
    /// - Throws: SQLite errors.
    /// - Complexity: O(waiting facts)
    func changes() throws -> [WaitingChanges] {
        try UnknownFacts.counts(connection).map {
            WaitingChanges(entity: $0.entity, count: $0.count, reason: try reason(for: $0.entity))
        }
    }

    private func reason(for entity: String) throws -> WaitingChanges.Reason {
        guard let position = schema.position(of: entity) else {
            let table = try Statement(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)",
                on: connection)
            table.bind(entity, at: 1)
            return try table.step() ? .notTracked : .noTable
        }
        let names = try UnknownFacts.columns(of: entity, connection)
        let missing = names.filter { schema.column($0, of: position) == nil }
        return missing.isEmpty
            ? .otherConstraints(names.sorted()) : .noColumns(missing.sorted())
    }
}
