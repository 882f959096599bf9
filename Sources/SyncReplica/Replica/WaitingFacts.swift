import SyncMerge
import SyncStorage

/// The facts that ``UnknownFacts`` keeps, counted by table, with what the schema lacks for them.
/// What this replica has dropped does not wait: its facts are kept for the others.
struct WaitingFacts {
    private let connection: OpaquePointer
    private let unknown: UnknownFacts
    private let schema: ReplicaSchema
    private let schemas: ConcurrentSchemas

    init(_ storage: ReplicaStorage) {
        connection = storage.connection
        unknown = storage.unknown
        schema = storage.schema
        schemas = storage.concurrentSchemas
    }

    private var names: SchemaNames { schema.names }

    /// The waiting changes, by table.
    /// - Throws: SQLite errors.
    /// - Complexity: O(waiting facts)
    func changes() throws -> [WaitingChanges] {
        let registers = try unknown.registers()
        let foreign = try NameStorage(connection).read().foreign
        let dropped = registers.filter { schema.hasDropped($0.columns, of: $0.entity) }
        guard dropped.count < registers.count else { return [] }
        let newest = try schemas.newest()?.content
        return try UnknownFacts.counts(connection, besides: dropped).map { entity, count in
            let title =
                names.entity(entity)?.name ?? foreign.name(ofEntity: entity)
                ?? SchemaIdentity.title(entity)
            let waiting = registers.filter {
                SQLName.isEqual($0.entity, to: entity)
                    && !schema.hasDropped($0.columns, of: $0.entity)
            }
            return WaitingChanges(
                entity: title, count: count,
                reason: try reason(
                    for: entity, title: title, waiting, foreign: foreign, newest: newest))
        }
    }

    private func reason(
        for entity: String, title: String, _ registers: [UnknownFacts.Register],
        foreign: ForeignNames, newest: SchemaContent?
    ) throws -> WaitingChanges.Reason {
        guard let position = schema.position(ofEntity: entity) else {
            if newest?.hasDropped(nil, of: entity) ?? false { return .dropped([]) }
            if let other = schema.position(of: title) {
                return .nameTaken(first: SchemaIdentity.title(schema.merge.entities[other].name))
            }
            let table = try Statement(
                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)",
                on: connection)
            table.bind(title, at: 1)
            return try table.step() ? .notTracked : .noTable
        }
        let ours = schema.merge.entities[position]
        if registers.contains(where: { $0.isPrivate != ours.isPrivate }) {
            return .otherKey(ours.key.map { schema.tables[position].columns[$0] })
        }
        let columns = Set(registers.flatMap(\.columns))
        let missing = columns.filter { schema.position(ofColumn: $0, entity: position) == nil }
        let titles = missing.map {
            foreign.name(ofColumn: $0, of: entity) ?? SchemaIdentity.title($0)
        }
        if let newest, missing.allSatisfy({ newest.hasDropped($0, of: entity) }) {
            return .dropped(Set(titles).sorted())
        }
        let taken = Set(titles.filter { schema.column($0, of: position) != nil }).sorted()
        return taken.isEmpty ? .noColumns(Set(titles).sorted()) : .columnNamesTaken(taken)
    }
}
