/// One relationship of an entity to another.
public struct RelationshipDescription: Sendable, Hashable, Codable {
    /// The name, as in `object["tasks"]` and in predicates.
    public var name: String
    /// The name of the entity at the other end.
    public var destination: String
    /// The relationship that leads back; nil for none.
    public var inverse: String?
    /// The greatest number of objects; 0 for no limit, 1 for a to-one relationship.
    public var maxCount: Int
    /// The least number of objects at save. An optional relationship may also be empty.
    public var minCount: Int
    /// May be empty at save.
    public var isOptional: Bool
    /// Its objects have an order of their own.
    public var isOrdered: Bool
    /// What happens to the other end when an object is deleted.
    public var deleteRule: DeleteRule
    /// The name in the older model, for migration; the name by default.
    public var renamingIdentifier: String
    /// A text that changes the version hash.
    public var versionHashModifier: String?
    /// The column of a to-one relationship, where this side has one; its own name unless set.
    public var column: String?
    /// The table and its two columns of a many-to-many relationship in an existing database.
    public var joinTable: JoinTable?

    /// A table that holds the pairs of a many-to-many relationship.
    public struct JoinTable: Sendable, Hashable, Codable {
        /// The table.
        public var table: String
        /// The column that names this side.
        public var source: String
        /// The column that names the other side.
        public var target: String

        /// Names the table and its columns.
        public init(table: String, source: String, target: String) {
            self.table = table
            self.source = source
            self.target = target
        }
    }

    /// Makes a relationship.
    public init(
        _ name: String, to destination: String, inverse: String? = nil, maxCount: Int,
        minCount: Int = 0, optional: Bool = true, ordered: Bool = false,
        deleteRule: DeleteRule = .nullify
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.maxCount = maxCount
        self.minCount = minCount
        isOptional = optional
        isOrdered = ordered
        self.deleteRule = deleteRule
        renamingIdentifier = name
    }

    /// A relationship to at most one object.
    public static func toOne(
        _ name: String, to destination: String, inverse: String? = nil, optional: Bool = true,
        deleteRule: DeleteRule = .nullify
    ) -> Self {
        Self(
            name, to: destination, inverse: inverse, maxCount: 1, minCount: optional ? 0 : 1,
            optional: optional, deleteRule: deleteRule)
    }

    /// A relationship to any number of objects.
    public static func toMany(
        _ name: String, to destination: String, inverse: String? = nil, ordered: Bool = false,
        deleteRule: DeleteRule = .nullify
    ) -> Self {
        Self(
            name, to: destination, inverse: inverse, maxCount: 0, ordered: ordered,
            deleteRule: deleteRule)
    }

    /// Leads to more than one object.
    public var isToMany: Bool { maxCount != 1 }

    /// The same relationship, known to have had another name in the older model.
    public func renamed(from identifier: String) -> Self {
        var relationship = self
        relationship.renamingIdentifier = identifier
        return relationship
    }
}
