/// Checks the entities of a model. Every problem is reported, not only the first.
struct ModelCheck {
    private let entities: [EntityDescription]
    private let named: [String: EntityDescription]

    /// The column that holds the entity of a row in the table of a hierarchy.
    static let kindColumn = "entity"

    init(_ entities: [EntityDescription]) {
        self.entities = entities
        named = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    var problems: [ObjectError] {
        var problems: [ObjectError] = []
        var seen: Set<String> = []
        for entity in entities {
            if entity.name.isEmpty { problems.append(problem("an entity without a name")) }
            if !seen.insert(entity.name.lowercased()).inserted {
                problems.append(problem("two entities of this name", entity: entity))
            }
            problems += check(entity)
        }
        return problems
    }

    private func check(_ entity: EntityDescription) -> [ObjectError] {
        if let parent = entity.parent {
            if named[parent] == nil {
                return [
                    problem("inherits from “\(parent)”, which is not in the model", entity: entity)
                ]
            }
            guard lineage(entity) != nil else {
                return [problem("inherits from itself", entity: entity)]
            }
        }
        return checkNames(entity) + entity.attributes.flatMap { check($0, of: entity) }
            + entity.relationships.flatMap { check($0, of: entity) } + checkLists(entity)
    }

    private func checkNames(_ entity: EntityDescription) -> [ObjectError] {
        var problems: [ObjectError] = []
        var names: Set<String> = []
        let inherited = (lineage(entity) ?? []).dropFirst().compactMap { named[$0] }
        for ancestor in inherited {
            names.formUnion(ancestor.attributes.map { $0.name.lowercased() })
            names.formUnion(ancestor.relationships.map { $0.name.lowercased() })
        }
        for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
            if name.isEmpty {
                problems.append(problem("a property without a name", entity: entity))
            }
            if !names.insert(name.lowercased()).inserted {
                problems.append(
                    problem("two properties of this name", entity: entity, property: name))
            }
            let isReserved =
                entity.keyColumns.isEmpty && name.lowercased() == "id"
                && entity.relationships.contains { $0.name == name }
            if isReserved {
                problems.append(problem("“id” is the key's column", entity: entity, property: name))
            }
        }
        return problems
    }

    private func check(
        _ attribute: AttributeDescription, of entity: EntityDescription
    ) -> [ObjectError] {
        var problems: [ObjectError] = []
        if let text = attribute.defaultProblem {
            problems.append(
                problem("the default is wrong: \(text)", entity: entity, property: attribute.name))
        }
        if attribute.type == .transformable, attribute.transformer == nil {
            problems.append(
                problem(
                    "transformable without a transformer", entity: entity, property: attribute.name)
            )
        }
        if let text = attribute.derivation {
            do {
                let expression = try DerivedExpression(text)
                problems += check(expression, for: attribute, of: entity)
            } catch let error as ObjectError {
                problems.append(problem(error.reason, entity: entity, property: attribute.name))
            } catch {}
        }
        return problems
    }

    private func check(
        _ expression: DerivedExpression, for attribute: AttributeDescription,
        of entity: EntityDescription
    ) -> [ObjectError] {
        let first: String
        switch expression {
        case .now: return []
        case .copy(let path), .canonical(let path), .uppercase(let path), .lowercase(let path):
            if path.count == 1 {
                return self.attribute(path[0], of: entity) == nil
                    ? [
                        problem(
                            "derived from “\(path[0])”, which is no attribute", entity: entity,
                            property: attribute.name)
                    ] : []
            }
            first = path[0]
        case .count(let relationship, _), .sum(let relationship, _): first = relationship
        }
        guard relationship(first, of: entity) != nil else {
            return [
                problem(
                    "derived from “\(first)”, which is no relationship", entity: entity,
                    property: attribute.name)
            ]
        }
        return []
    }

    private func check(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) -> [ObjectError] {
        let name = relationship.name
        guard let destination = named[relationship.destination] else {
            return [
                problem(
                    "leads to “\(relationship.destination)”, not in the model", entity: entity,
                    property: name)
            ]
        }
        if relationship.isOrdered, !relationship.isToMany {
            return [problem("a to-one relationship has no order", entity: entity, property: name)]
        }
        guard let inverse = relationship.inverse else { return [] }
        guard let back = self.relationship(inverse, of: destination) else {
            return [
                problem("its inverse “\(inverse)” does not exist", entity: entity, property: name)
            ]
        }
        let lineage = lineage(entity) ?? []
        guard back.inverse == name, lineage.contains(back.destination) else {
            return [
                problem(
                    "its inverse “\(inverse)” does not lead back", entity: entity, property: name)
            ]
        }
        if back == relationship {
            return [
                problem(
                    "is its own inverse: make two relationships", entity: entity, property: name)
            ]
        }
        return []
    }

    private func checkLists(_ entity: EntityDescription) -> [ObjectError] {
        var problems: [ObjectError] = []
        for name in (entity.uniquenessConstraints + entity.indexes).joined() {
            let known =
                attribute(name, of: entity).map { !$0.isTransient }
                ?? relationship(name, of: entity).map { !$0.isToMany } ?? false
            if !known {
                problems.append(
                    problem("a constraint or an index names it", entity: entity, property: name))
            }
        }
        return problems
    }

    private func attribute(_ name: String, of entity: EntityDescription) -> AttributeDescription? {
        for ancestor in (lineage(entity) ?? []).compactMap({ named[$0] }) {
            if let found = ancestor.attributes.first(where: { $0.name == name }) { return found }
        }
        return nil
    }

    private func relationship(
        _ name: String, of entity: EntityDescription
    ) -> RelationshipDescription? {
        for ancestor in (lineage(entity) ?? []).compactMap({ named[$0] }) {
            if let found = ancestor.relationships.first(where: { $0.name == name }) { return found }
        }
        return nil
    }

    /// The entity and its ancestors; nil when they form a cycle.
    private func lineage(_ entity: EntityDescription) -> [String]? {
        var names = [entity.name]
        var parent = entity.parent
        while let name = parent {
            if names.contains(name) { return nil }
            names.append(name)
            parent = named[name]?.parent
        }
        return names
    }

    private func problem(
        _ reason: String, entity: EntityDescription? = nil, property: String? = nil
    ) -> ObjectError {
        ObjectError(.invalidModel, reason, entity: entity?.name, property: property)
    }
}
