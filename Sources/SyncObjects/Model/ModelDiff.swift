/// The differences between an older and a newer model, property by property.
///
/// Print it, or compare a description kept by hand with the one that is used:
/// `#expect(preview.diff(model).isEmpty)`.
public struct ModelDiff: Sendable, CustomStringConvertible {
    /// One difference.
    public struct Change: Sendable, CustomStringConvertible {
        /// What kind of difference it is.
        public enum Kind: Sendable, Hashable {
            /// In the newer model only.
            case added
            /// In the older model only.
            case removed
            /// In both, under two names.
            case renamed(from: String)
            /// In both, with differences.
            case changed(String)
        }

        /// The entity, by its newer name.
        public let entity: String
        /// The property, by its newer name; nil for the entity itself.
        public let property: String?
        /// What kind of difference it is.
        public let kind: Kind
        /// Why the change cannot be migrated automatically; nil when it can.
        public let blocker: String?

        /// `Shop.name: renamed from “title”`
        public var description: String {
            var text = property.map { "\(entity).\($0): " } ?? "\(entity): "
            switch kind {
            case .added: text += "added"
            case .removed: text += "removed"
            case .renamed(let name): text += "renamed from “\(name)”"
            case .changed(let what): text += what
            }
            if let blocker { text += " (cannot be inferred: \(blocker))" }
            return text
        }
    }

    /// The differences, in the order of the newer model.
    public private(set) var changes: [Change] = []
    /// The older name of each entity that both models have, by its newer one.
    let entityNames: [String: String]

    /// The models are alike.
    public var isEmpty: Bool { changes.isEmpty }

    /// The changes that prevent a lightweight migration.
    public var blockers: [Change] { changes.filter { $0.blocker != nil } }

    /// One difference a line.
    public var description: String { changes.map(\.description).joined(separator: "\n") }

    init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
        let oldNames = Set(old.entities.map(\.name))
        var names: [String: String] = [:]
        for entity in new.entities {
            let name =
                oldNames.contains(entity.renamingIdentifier)
                ? entity.renamingIdentifier : entity.name
            if oldNames.contains(name) { names[entity.name] = name }
        }
        entityNames = names
        for entity in new.entities {
            let former = names[entity.name].flatMap { old.layouts[$0]?.description }
            guard let former else {
                add(entity.name, property: nil, kind: .added)
                continue
            }
            compare(former, with: entity)
        }
        let kept = Set(names.values)
        for entity in old.entities where !kept.contains(entity.name) {
            add(entity.name, property: nil, kind: .removed)
        }
    }

    private mutating func add(
        _ entity: String, property: String?, kind: Change.Kind, blocker: String? = nil
    ) {
        changes.append(Change(entity: entity, property: property, kind: kind, blocker: blocker))
    }

    private mutating func compare(_ old: EntityDescription, with new: EntityDescription) {
        if old.name != new.name { add(new.name, property: nil, kind: .renamed(from: old.name)) }
        if old.parent != new.parent.map({ entityNames[$0] ?? $0 }) {
            add(
                new.name, property: nil, kind: .changed("inherits from another entity"),
                blocker: "its rows are in another table")
        }
        if old.isAbstract != new.isAbstract {
            add(new.name, property: nil, kind: .changed("abstract"))
        }
        if Set(old.uniquenessConstraints) != Set(new.uniquenessConstraints) {
            add(new.name, property: nil, kind: .changed("other constraints"))
        }
        if Set(old.indexes) != Set(new.indexes) {
            add(new.name, property: nil, kind: .changed("other indexes"))
        }
        if old.versionHashModifier != new.versionHashModifier {
            add(new.name, property: nil, kind: .changed("other version hash modifier"))
        }
        compareAttributes(of: old, with: new)
        compareRelationships(of: old, with: new)
    }

    private mutating func compareAttributes(of old: EntityDescription, with new: EntityDescription)
    {
        var left = Dictionary(uniqueKeysWithValues: old.attributes.map { ($0.name, $0) })
        for attribute in new.attributes {
            let former =
                left.removeValue(forKey: attribute.name)
                ?? left.removeValue(forKey: attribute.renamingIdentifier)
            guard let former else {
                add(
                    new.name, property: attribute.name, kind: .added,
                    blocker: blocker(adding: attribute))
                continue
            }
            if former.name != attribute.name {
                add(new.name, property: attribute.name, kind: .renamed(from: former.name))
            }
            compare(former, with: attribute, in: new)
        }
        for name in left.keys.sorted() { add(new.name, property: name, kind: .removed) }
    }

    private func blocker(adding attribute: AttributeDescription) -> String? {
        let isFilled =
            attribute.isOptional || attribute.isTransient
            || attribute.derivation != nil || attribute.defaultValue != .null
        return isFilled ? nil : "it is mandatory and has no default"
    }

    private mutating func compare(
        _ old: AttributeDescription, with new: AttributeDescription, in entity: EntityDescription
    ) {
        if old.coding != new.coding {
            add(
                entity.name, property: new.name,
                kind: .changed("\(old.type.rawValue) to \(new.type.rawValue)"),
                blocker: Self.blocker(from: old.coding, to: new.coding))
        }
        if old.isOptional != new.isOptional {
            let isBlocked = !new.isOptional && new.defaultValue == .null && new.derivation == nil
            add(
                entity.name, property: new.name,
                kind: .changed(new.isOptional ? "optional" : "mandatory"),
                blocker: isBlocked ? "it is mandatory and has no default" : nil)
        }
        if old.isTransient != new.isTransient {
            add(
                entity.name, property: new.name,
                kind: .changed(new.isTransient ? "transient" : "stored"))
        }
        if old.derivation != new.derivation {
            add(entity.name, property: new.name, kind: .changed("derived from something else"))
        }
        if old.transformer?.name != new.transformer?.name {
            add(entity.name, property: new.name, kind: .changed("other transformer"))
        }
        if old.versionHashModifier != new.versionHashModifier {
            add(entity.name, property: new.name, kind: .changed("other version hash modifier"))
        }
    }

    /// Widening conversions lose nothing. All others need a migration stage.
    private static func blocker(from old: AttributeCoding, to new: AttributeCoding) -> String? {
        if old.type == new.type { return "dates are stored in another form" }
        let order: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]
        if let from = order.firstIndex(of: old.type), let to = order.firstIndex(of: new.type),
            from < to
        {
            return nil
        }
        switch (old.type, new.type) {
        case (.float, .double), (.uuid, .string), (.uri, .string), (_, .any): return nil
        case (.integer16, .double), (.integer32, .double), (.integer16, .decimal),
            (.integer32, .decimal), (.integer64, .decimal):
            return nil
        default: return "values would be lost or changed"
        }
    }

    private mutating func compareRelationships(
        of old: EntityDescription, with new: EntityDescription
    ) {
        var left = Dictionary(uniqueKeysWithValues: old.relationships.map { ($0.name, $0) })
        for relationship in new.relationships {
            let former =
                left.removeValue(forKey: relationship.name)
                ?? left.removeValue(forKey: relationship.renamingIdentifier)
            guard let former else {
                let isBlocked = !relationship.isOptional && !relationship.isToMany
                add(
                    new.name, property: relationship.name, kind: .added,
                    blocker: isBlocked
                        ? "it is mandatory: existing objects have no value for it" : nil)
                continue
            }
            if former.name != relationship.name {
                add(new.name, property: relationship.name, kind: .renamed(from: former.name))
            }
            compare(former, with: relationship, in: new)
        }
        for name in left.keys.sorted() { add(new.name, property: name, kind: .removed) }
    }

    private mutating func compare(
        _ old: RelationshipDescription, with new: RelationshipDescription,
        in entity: EntityDescription
    ) {
        if old.isToMany != new.isToMany || (old.inverse == nil) != (new.inverse == nil) {
            add(
                entity.name, property: new.name,
                kind: .changed(new.isToMany ? "to-many" : "to-one"),
                blocker: "its pairs are kept in another place")
        }
        if old.destination != (entityNames[new.destination] ?? new.destination) {
            add(
                entity.name, property: new.name, kind: .changed("leads to \(new.destination)"),
                blocker: "existing pairs would lead to objects of another entity")
        }
        if old.isOrdered != new.isOrdered {
            add(
                entity.name, property: new.name,
                kind: .changed(new.isOrdered ? "ordered" : "not ordered"))
        }
        if old.deleteRule != new.deleteRule {
            add(
                entity.name, property: new.name,
                kind: .changed("delete rule \(new.deleteRule.rawValue)"))
        }
        if old.isOptional != new.isOptional || old.minCount != new.minCount
            || old.maxCount != new.maxCount
        {
            let isBlocked = old.isOptional && !new.isOptional && !new.isToMany
            add(
                entity.name, property: new.name, kind: .changed("other counts"),
                blocker: isBlocked
                    ? "it is mandatory: existing objects may have no value for it" : nil)
        }
    }
}
