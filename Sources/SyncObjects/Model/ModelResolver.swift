import SyncCore

/// Assigns each property of a checked model its storage: tables, columns, slots, references, joins.
struct ModelResolver {
    private let entities: [EntityDescription]
    private let named: [String: EntityDescription]

    struct Result {
        var layouts: [String: EntityLayout] = [:]
        var tables: [TableLayout] = []
        var joins: [JoinLayout] = []
    }

    /// One property that a row carries, before it has a number.
    private struct Field {
        let name: String
        let column: String
        let owner: String
        let kind: Kind

        enum Kind {
            case attribute(AttributeDescription)
            case reference(RelationshipDescription)
            case position(RelationshipDescription)
        }
    }

    init(_ entities: [EntityDescription]) {
        self.entities = entities
        named = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    }

    func resolve() -> Result {
        var result = Result()
        var joins: [String: JoinLayout] = [:]
        for entity in entities {
            for relationship in entity.relationships where isJoin(relationship, of: entity) {
                let join = makeJoin(for: relationship, of: entity)
                joins[join.table] = join
            }
        }
        for root in entities where root.parent == nil {
            let members = hierarchy(root.name)
            let fields = members.flatMap(ownFields)
            let table = makeTable(root: root, members: members, fields: fields)
            result.tables.append(table)
            for member in members {
                let relations = makeRelations(of: member, joins: joins)
                let layout = EntityLayout(
                    description: member, root: root.name, lineage: lineage(member),
                    family: family(member), table: table,
                    slots: slots(
                        of: member, fields: fields, relations: relations.map(\.description)),
                    relations: relations)
                result.layouts[member.name] = layout
            }
        }
        result.joins = joins.values.sorted { $0.table < $1.table }
        return result
    }

    // MARK: Tables

    private func makeTable(
        root: EntityDescription, members: [EntityDescription], fields: [Field]
    ) -> TableLayout {
        let columns = fields.filter { !isTransient($0) }.map { field in
            let inRoot = field.owner == root.name
            switch field.kind {
            case .attribute(let attribute):
                return TableLayout.Column(
                    name: field.column, type: attribute.type.columnType,
                    isMandatory: !attribute.isOptional && inRoot && attribute.derivation == nil,
                    defaultValue: attribute.defaultValue, reference: nil, coding: attribute.coding)
            case .reference(let relationship):
                return TableLayout.Column(
                    name: field.column, type: referenceType(relationship),
                    isMandatory: !relationship.isOptional && inRoot, defaultValue: .null,
                    reference: (field.owner, relationship), coding: AttributeCoding(.any))
            case .position:
                return TableLayout.Column(
                    name: field.column, type: "REAL", isMandatory: false, defaultValue: .null,
                    reference: nil, coding: AttributeCoding(.double))
            }
        }
        let key =
            root.keyColumns.isEmpty
            ? [EntityDescription.KeyColumn("id", isRowID: true)] : root.keyColumns
        return TableLayout(
            name: root.table ?? root.name, key: key,
            kindColumn: members.count > 1 ? ModelCheck.kindColumn : nil, columns: columns,
            isManaged: root.keyColumns.isEmpty)
    }

    private func referenceType(_ relationship: RelationshipDescription) -> String {
        guard let destination = named[relationship.destination] else { return "INTEGER" }
        let root = lineage(destination).last.flatMap { named[$0] }
        return root?.keyColumns.isEmpty == false ? "BLOB" : "INTEGER"
    }

    private func isTransient(_ field: Field) -> Bool {
        if case .attribute(let attribute) = field.kind { return attribute.isTransient }
        return false
    }

    /// What the rows of `entity` carry beyond those of its parent.
    private func ownFields(_ entity: EntityDescription) -> [Field] {
        let isRoot = entity.parent == nil
        /// Sibling entities may have properties of the same name: those below the root get a
        /// prefix.
        let prefix = { (column: String) in
            let taken = entities.contains {
                $0.name != entity.name && lineage($0).last == lineage(entity).last
                    && ($0.attributes.contains { ($0.column ?? $0.name) == column }
                        || $0.relationships.contains { ($0.column ?? $0.name) == column })
            }
            return taken && !isRoot ? "\(entity.name)_\(column)" : column
        }
        /// An attribute called `id` gets another column, because the key has that name.
        let free = { (column: String) in
            let reserved =
                column.lowercased() == "id" && entity.keyColumns.isEmpty
                || column.lowercased() == ModelCheck.kindColumn
            return reserved && lineageRoot(entity).keyColumns.isEmpty ? column + "_value" : column
        }
        var fields = entity.attributes.map {
            Field(
                name: $0.name, column: free(prefix($0.column ?? $0.name)), owner: entity.name,
                kind: .attribute($0))
        }
        for relationship in entity.relationships where isReference(relationship, of: entity) {
            let column = free(prefix(relationship.column ?? relationship.name))
            fields.append(
                Field(
                    name: relationship.name, column: column, owner: entity.name,
                    kind: .reference(relationship)))
            if inverse(of: relationship)?.isOrdered == true {
                fields.append(
                    Field(
                        name: relationship.name + "#order", column: column + "_order",
                        owner: entity.name, kind: .position(relationship)))
            }
        }
        return fields
    }

    private func slots(
        of entity: EntityDescription, fields: [Field], relations: [RelationshipDescription]
    ) -> [EntityLayout.Slot] {
        let owners = Set(lineage(entity))
        var column = 0
        var slots: [EntityLayout.Slot] = []
        for field in fields {
            let index = isTransient(field) ? nil : column
            if index != nil { column += 1 }
            guard owners.contains(field.owner) else { continue }
            let kind: EntityLayout.Slot.Kind
            var coding = AttributeCoding(.any)
            var defaultValue = Value.null
            switch field.kind {
            case .attribute(let attribute):
                kind = .attribute(attribute)
                coding = attribute.coding
                defaultValue = attribute.defaultValue
            case .reference(let relationship):
                kind = .reference(
                    relation: relations.firstIndex { $0.name == relationship.name } ?? 0)
            case .position(let relationship):
                kind = .position(
                    relation: relations.firstIndex { $0.name == relationship.name } ?? 0)
                coding = AttributeCoding(.double)
            }
            slots.append(
                EntityLayout.Slot(
                    name: field.name, kind: kind, column: index, coding: coding,
                    defaultValue: defaultValue))
        }
        return slots
    }

    // MARK: Relationships

    private func makeRelations(
        of entity: EntityDescription, joins: [String: JoinLayout]
    ) -> [EntityLayout.Relation] {
        lineage(entity).reversed().compactMap { named[$0] }.flatMap { owner in
            owner.relationships.map { relationship in
                let destination = named[relationship.destination] ?? owner
                return EntityLayout.Relation(
                    description: relationship,
                    storage: storage(
                        of: relationship, owner: owner, entity: entity, destination: destination,
                        joins: joins),
                    destinationRoot: lineage(destination).last ?? destination.name)
            }
        }
    }

    private func storage(
        of relationship: RelationshipDescription, owner: EntityDescription,
        entity: EntityDescription, destination: EntityDescription,
        joins: [String: JoinLayout]
    ) -> EntityLayout.Relation.Storage {
        if isReference(relationship, of: owner) {
            return .reference(slot: slotNumber(of: relationship.name, in: entity))
        }
        if isJoin(relationship, of: owner) {
            let names = joinNames(for: relationship, of: owner)
            let join = joins[names.table] ?? makeJoin(for: relationship, of: owner)
            return .join(join, isSource: names.isSource)
        }
        let inverse = relationship.inverse ?? ""
        return .inverse(
            entity: destination.name, slot: slotNumber(of: inverse, in: destination),
            position: relationship.isOrdered
                ? slotNumber(of: inverse + "#order", in: destination) : nil)
    }

    private func slotNumber(of name: String, in entity: EntityDescription) -> Int {
        let owners = Set(lineage(entity))
        let fields = hierarchy(lineageRoot(entity).name).flatMap(ownFields)
            .filter { owners.contains($0.owner) }
        return fields.firstIndex { $0.name == name } ?? 0
    }

    /// This side's table has the column.
    private func isReference(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) -> Bool {
        guard !relationship.isToMany else { return false }
        guard let inverse = inverse(of: relationship) else { return true }
        if inverse.isToMany { return true }
        if (relationship.column == nil) != (inverse.column == nil) {
            return relationship.column != nil
        }
        // One-to-one: on the side that is deleted with the other end, so that SQLite can cascade
        // the deletion.
        if (inverse.deleteRule == .cascade) != (relationship.deleteRule == .cascade) {
            return inverse.deleteRule == .cascade
        }
        if relationship.isOptional != inverse.isOptional { return !relationship.isOptional }
        return (entity.name, relationship.name) < (relationship.destination, inverse.name)
    }

    private func isJoin(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) -> Bool {
        guard relationship.isToMany else { return false }
        return inverse(of: relationship)?.isToMany ?? true
    }

    private func joinNames(
        for relationship: RelationshipDescription, of entity: EntityDescription
    ) -> (table: String, isSource: Bool) {
        if let join = relationship.joinTable {
            let isSource = inverse(of: relationship).map {
                (entity.name, relationship.name) < (relationship.destination, $0.name)
            }
            return (join.table, isSource ?? true)
        }
        guard let inverse = inverse(of: relationship) else {
            return ("\(entity.name)_\(relationship.name)", true)
        }
        let isSource =
            (entity.name, relationship.name) < (relationship.destination, inverse.name)
        let table =
            isSource
            ? "\(entity.name)_\(relationship.name)"
            : "\(relationship.destination)_\(inverse.name)"
        return (table, isSource)
    }

    private func makeJoin(
        for relationship: RelationshipDescription, of entity: EntityDescription
    ) -> JoinLayout {
        let names = joinNames(for: relationship, of: entity)
        let inverse = inverse(of: relationship)
        let own = (entity: rootName(entity.name), column: relationship.joinTable?.source)
        let other = (
            entity: rootName(relationship.destination), column: relationship.joinTable?.target
        )
        let source = names.isSource ? own : other
        let target = names.isSource ? other : own
        let ownOrdered = relationship.isOrdered
        let otherOrdered = inverse?.isOrdered == true
        return JoinLayout(
            table: names.table, source: (source.entity, source.column ?? "source"),
            target: (target.entity, target.column ?? "target"),
            targetOrder: (names.isSource ? ownOrdered : otherOrdered) ? "target_order" : nil,
            sourceOrder: (names.isSource ? otherOrdered : ownOrdered) ? "source_order" : nil,
            isManaged: relationship.joinTable == nil)
    }

    private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        guard let name = relationship.inverse, let entity = named[relationship.destination] else {
            return nil
        }
        return lineage(entity).compactMap { named[$0] }
            .compactMap { $0.relationships.first { $0.name == name } }.first
    }

    // MARK: Hierarchies

    private func lineage(_ entity: EntityDescription) -> [String] {
        var names = [entity.name]
        var parent = entity.parent
        while let name = parent {
            names.append(name)
            parent = named[name]?.parent
        }
        return names
    }

    private func lineageRoot(_ entity: EntityDescription) -> EntityDescription {
        lineage(entity).last.flatMap { named[$0] } ?? entity
    }

    /// Parents first, so that a slot has one number in an entity and in all that inherit from it.
    private func hierarchy(_ root: String) -> [EntityDescription] {
        entities.filter { lineage($0).last == root }.enumerated()
            .sorted {
                (lineage($0.element).count, $0.offset) < (lineage($1.element).count, $1.offset)
            }
            .map(\.element)
    }

    private func rootName(_ name: String) -> String {
        named[name].flatMap { lineage($0).last } ?? name
    }

    private func family(_ entity: EntityDescription) -> Set<String> {
        Set(entities.filter { lineage($0).contains(entity.name) }.map(\.name))
    }
}
