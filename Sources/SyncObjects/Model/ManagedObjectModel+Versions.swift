extension EntityDescription {
    /// Changes exactly when the entity needs another table: with names, types, optionality,
    /// relationships, constraints, indexes, derivations and modifiers; not with defaults and rules.
    public var versionHash: String {
        var parts = [
            name, parent ?? "", isAbstract ? "abstract" : "", versionHashModifier ?? "",
            table ?? "", keyColumns.map(\.column).joined(separator: ","),
        ]
        for attribute in attributes.sorted(by: { $0.name < $1.name }) where !attribute.isTransient {
            parts += [
                "attribute", attribute.name, attribute.type.rawValue,
                attribute.coding.dates.rawValue, attribute.isOptional ? "optional" : "",
                attribute.derivation ?? "", attribute.transformer?.name ?? "",
                attribute.column ?? "", attribute.versionHashModifier ?? "",
            ]
        }
        for relationship in relationships.sorted(by: { $0.name < $1.name }) {
            parts += [
                "relationship", relationship.name, relationship.destination,
                relationship.inverse ?? "", String(relationship.minCount),
                String(relationship.maxCount), relationship.isOptional ? "optional" : "",
                relationship.isOrdered ? "ordered" : "", relationship.deleteRule.rawValue,
                relationship.column ?? "", relationship.versionHashModifier ?? "",
            ]
        }
        for names in uniquenessConstraints { parts += ["unique"] + names }
        for names in indexes { parts += ["index"] + names }
        return Fingerprint.of(parts.joined(separator: "\u{1f}"))
    }
}

extension ManagedObjectModel {
    /// The version hash of each entity, by its name.
    public var entityVersionHashes: [String: String] {
        Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.versionHash) })
    }

    /// One hash over all entities: models that are equal have equal ones.
    public var versionHash: String {
        let hashes = entityVersionHashes.sorted { $0.key < $1.key }
        return Fingerprint.of(hashes.map { $0.key + $0.value }.joined())
    }

    /// A store written under `other` opens under this model without migration.
    public func isCompatible(with other: ManagedObjectModel) -> Bool {
        versionHash == other.versionHash
    }

    /// What differs from `other`, taken as the older model.
    public func diff(_ other: ManagedObjectModel) -> ModelDiff {
        ModelDiff(from: other, to: self)
    }
}
