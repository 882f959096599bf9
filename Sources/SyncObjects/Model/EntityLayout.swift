import SyncCore

/// An entity as a model resolved it: where each property is stored. Immutable; shared by every
/// object of the entity.
///
/// The values of a row are in *slots*, numbered from 0: attributes, the references of to-one
/// relationships whose column is in this table, and positions in ordered relationships. Slots are
/// the only stored form of relationships: the other direction (to-many, the other end of
/// one-to-one) is derived from them, so that the two ends always agree.
public final class EntityLayout: Sendable {
    /// What the model says.
    public let description: EntityDescription
    /// The entity at the top of its hierarchy, whose table holds its rows.
    public let root: String
    /// Its own name, then what it inherits from, up to the root.
    public let lineage: [String]
    /// Its own name and all that inherit from it.
    public let family: Set<String>
    let table: TableLayout
    let slots: [Slot]
    /// For each slot its column in the table, or -1.
    let slotColumns: [Int32]
    /// The values of a new object.
    let defaults: [Value]
    let slotIndex: NameIndex
    let relations: [Relation]
    let relationIndex: NameIndex

    /// The name.
    public var name: String { description.name }

    /// A class, because descriptions are large and a slot is read at each access.
    final class Slot: Sendable {
        enum Kind: Sendable {
            case attribute(AttributeDescription)
            /// The key of the object that a to-one relationship leads to.
            case reference(relation: Int)
            /// The place in an ordered relationship of the object that `relation` leads to.
            case position(relation: Int)
        }

        let name: String
        let kind: Kind
        /// Index into the table's columns; nil for what is not stored.
        let column: Int?
        let coding: AttributeCoding
        let defaultValue: Value
        /// Computed at save: objects cannot set it, and it is not compared for conflicts.
        let isDerived: Bool
        /// An attribute that is stored as it is: neither derived nor transformed.
        let isPlain: Bool
        let isAttribute: Bool
        /// An attribute that must have a value to be saved.
        let isMandatory: Bool
        let rules: [ValidationRule]
        /// The relationship whose reference it is; nil for other slots.
        let relation: Int?

        init(
            name: String, kind: Kind, column: Int?, coding: AttributeCoding, defaultValue: Value
        ) {
            self.name = name
            self.kind = kind
            self.column = column
            self.coding = coding
            self.defaultValue = defaultValue
            if case .attribute(let attribute) = kind {
                isDerived = attribute.derivation != nil
                isPlain = attribute.derivation == nil && attribute.transformer == nil
                isMandatory = !attribute.isOptional
                (isAttribute, rules) = (true, attribute.rules)
            } else {
                (isDerived, isPlain, isAttribute, isMandatory) = (false, false, false, false)
                rules = []
            }
            if case .reference(let relation) = kind {
                self.relation = relation
            } else {
                relation = nil
            }
        }
    }

    /// One relationship, and where its pairs are kept.
    struct Relation: Sendable {
        enum Storage: Sendable {
            /// A slot of this entity names the other end.
            case reference(slot: Int)
            /// A slot of the other entity names this one; `position` orders them where it is set.
            case inverse(entity: String, slot: Int, position: Int?)
            /// A table of pairs.
            case join(JoinLayout, isSource: Bool)
        }

        let description: RelationshipDescription
        let storage: Storage
        let destinationRoot: String

        var name: String { description.name }
    }

    init(
        description: EntityDescription, root: String, lineage: [String], family: Set<String>,
        table: TableLayout, slots: [Slot], relations: [Relation]
    ) {
        self.description = description
        self.root = root
        self.lineage = lineage
        self.family = family
        self.table = table
        self.slots = slots
        slotColumns = slots.map { Int32($0.column ?? -1) }
        defaults = slots.map(\.defaultValue)
        self.relations = relations
        slotIndex = NameIndex(slots.map(\.name))
        relationIndex = NameIndex(relations.map(\.name))
    }

    func relation(_ name: String) -> Relation? { relationIndex[name].map { relations[$0] } }

    func slot(_ name: String) -> Slot? { slotIndex[name].map { slots[$0] } }

    /// The attribute of that name; nil for relationships and unknown names.
    func attribute(_ name: String) -> AttributeDescription? {
        guard case .attribute(let attribute)? = slot(name)?.kind else { return nil }
        return attribute
    }

    /// The names of attributes, inherited ones first.
    public var attributeNames: [String] {
        slots.compactMap { slot in
            if case .attribute = slot.kind { return slot.name }
            return nil
        }
    }

    /// The names of relationships, inherited ones first.
    public var relationshipNames: [String] { relations.map(\.name) }

    /// True when `name` is this entity or one that it inherits from.
    public func isKind(of name: String) -> Bool { lineage.contains(name) }

    /// The error for a property that this entity does not have.
    func unknownProperty(_ name: String) -> ObjectError {
        let names = (attributeNames + relationshipNames).sorted().joined(separator: ", ")
        return ObjectError(
            .unknownProperty, "“\(self.name)” has no property “\(name)”",
            hint: "Its properties are: \(names)", entity: self.name, property: name)
    }
}
