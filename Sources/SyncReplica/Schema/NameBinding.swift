import SyncCore
import SyncMerge
import SyncStorage

/// Finds out which entity and which columns the tables of a changed schema are.
///
/// A table is the entity whose number in `syncd_entity` it continues: SQLite's RENAME keeps it,
/// because the triggers follow. One that continues none is the entity that was last called so, if
/// its table is gone: it was dropped and created again. Any other one is new, and its identity is
/// that of the one which other replicas call so, or the first generation of its name that no entity
/// has or had here. Columns alike; one that was dropped does not come back.
struct NameBinding {
    /// What records of a store had before it knew identities: columns by entity, folded.
    typealias Former = [String: Set<String>]

    private let known: SchemaNames
    private let foreign: ForeignNames
    private let catalog: EntityCatalog
    private let former: Former?

    /// - Parameters:
    ///   - known: the identities until now; none: the store begins to use them.
    ///   - foreign: what others call what is not here.
    ///   - former: of a store that has records already.
    init(
        _ known: SchemaNames, foreign: ForeignNames, catalog: EntityCatalog, former: Former?
    ) {
        self.known = known
        self.foreign = foreign
        self.catalog = catalog
        self.former = former
    }

    /// A table with its entities, the present one first.
    private struct Line {
        let table: TableSchema
        let steps: [TrackedEntity]
    }

    /// The identities of some tables.
    /// - Parameter tables: those that are recorded.
    /// - Throws: SQLite errors; `badData` for layouts that cannot be read.
    /// - Complexity: O(columns)
    func bound(_ tables: [TableSchema]) throws -> SchemaNames {
        let lines = try tables.map { Line(table: $0, steps: try steps(of: $0)) }
            .sorted { ($0.steps.last?.id ?? .max) < ($1.steps.last?.id ?? .max) }
        var entities = known.entities
        var places: [Int: Int] = [:]
        for (line, item) in lines.enumerated() {
            let numbers = Set(item.steps.map(\.id))
            places[line] = entities.firstIndex { $0.number.map(numbers.contains) ?? false }
        }
        for (line, item) in lines.enumerated() where places[line] == nil {
            let claimed = Set(places.values)
            places[line] = entities.indices.first { place in
                !claimed.contains(place) && Self.isEqual(entities[place].name, item.table.name)
            }
        }
        for (line, item) in lines.enumerated() {
            let place = places[line] ?? entities.count
            if place == entities.count {
                entities.append(
                    SchemaNames.Entity(identity: identity(of: item, besides: entities)))
                places[line] = place
            }
            entities[place].columns = try columns(of: item, in: entities[place])
            entities[place].name = item.table.name
            entities[place].number = item.steps.first?.id
        }
        let live = Set(places.values)
        for place in entities.indices where !live.contains(place) {
            entities[place].number = nil
            let isTaken = lines.contains { Self.isEqual(entities[place].name, $0.table.name) }
            if isTaken { entities[place].name = nil }
        }
        return SchemaNames(entities)
    }

    private func steps(of table: TableSchema) throws -> [TrackedEntity] {
        var steps: [TrackedEntity] = []
        var next = catalog.present.first { SQLName.isEqual($0.name, to: table.name) }
        while let step = next {
            steps.append(step)
            next = try step.layout.previous.flatMap { $0 < step.id ? try catalog.entity($0) : nil }
        }
        return steps
    }

    private static func isEqual(_ name: String?, _ other: String) -> Bool {
        name.map { SQLName.isEqual($0, to: other) } ?? false
    }

    // MARK: New identities

    private func identity(of line: Line, besides entities: [SchemaNames.Entity]) -> String {
        let taken = Set(entities.map { SQLName.folded($0.identity) })
        if let theirs = foreign.entity(named: line.table.name),
            !taken.contains(SQLName.folded(theirs))
        {
            return theirs
        }
        var first = line.table.name
        if known.entities.isEmpty {
            if let former {
                first = line.steps.map(\.name).first { former[SQLName.folded($0)] != nil } ?? first
            } else {
                first = line.steps.last?.name ?? first
            }
        }
        return SchemaIdentity.free(first, isTaken: taken.contains)
    }

    private func columns(
        of line: Line, in entity: SchemaNames.Entity
    ) throws -> [SchemaNames.Column] {
        var columns = entity.columns
        let present = line.table.storedColumns.map(\.name)
        let now = try presentNames(of: line, in: entity)
        var bound: Set<String> = []
        for place in columns.indices {
            guard let name = columns[place].name else { continue }
            let next = now.map { $0[SQLName.folded(name)] } ?? name
            columns[place].name = next.flatMap { next in
                present.first { SQLName.isEqual($0, to: next) }
            }
            if let name = columns[place].name { bound.insert(SQLName.folded(name)) }
        }
        var taken = Set(columns.map { SQLName.folded($0.identity) })
        for name in present where !bound.contains(SQLName.folded(name)) {
            let theirs = foreign.column(named: name, of: entity.identity).flatMap {
                taken.contains(SQLName.folded($0)) ? nil : $0
            }
            let first = try firstName(of: name, in: line, entity: entity)
            let identity = theirs ?? SchemaIdentity.free(first, isTaken: taken.contains)
            taken.insert(SQLName.folded(identity))
            columns.append(SchemaNames.Column(identity: identity, name: name))
        }
        return columns
    }

    /// The present names of the columns of an entity, by their folded names at its number; nil
    /// where that is not known: a column is the one of its name.
    private func presentNames(
        of line: Line, in entity: SchemaNames.Entity
    ) throws -> [String: String]? {
        guard let number = entity.number, let last = line.steps.first,
            let old = line.steps.first(where: { $0.id == number }),
            let names = try catalog.names(of: number, in: last)
        else { return nil }
        let pairs = zip(old.columnNames, names).compactMap { old, now in
            now.map { (SQLName.folded(old), $0) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// The name that a column of a store without identities is recorded under, or had first.
    private func firstName(
        of name: String, in line: Line, entity: SchemaNames.Entity
    ) throws -> String {
        guard known.entities.isEmpty, let last = line.steps.first else { return name }
        let recorded = former?[SQLName.folded(entity.identity)]
        var first = name
        for step in line.steps {
            guard let names = try catalog.names(of: step.id, in: last),
                let place = names.firstIndex(where: { Self.isEqual($0, name) })
            else { break }
            first = step.columnNames[place]
            if recorded?.contains(SQLName.folded(first)) ?? false { return first }
        }
        return former == nil ? first : name
    }
}
