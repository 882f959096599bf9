import SyncCore

/// One entity of a model: its properties, its rules, and the Swift class of its objects.
///
/// ```swift
/// EntityDescription("Item", class: Item.self, attributes: [
///     AttributeDescription("title"),
///     AttributeDescription("timestamp", .date, optional: true),
/// ])
/// ```
public struct EntityDescription: Sendable {
    /// The name.
    public var name: String
    /// The Swift class of its objects; `ManagedObject` unless set.
    public var objectClass: (any EntityObject.Type)?
    /// The entity it inherits from.
    public var parent: String?
    /// Has no objects of its own, only of entities that inherit from it.
    public var isAbstract = false
    /// Its attributes; those of composites come after them.
    public var attributes: [AttributeDescription]
    /// Its relationships.
    public var relationships: [RelationshipDescription]
    /// Names of attributes whose values together occur once only.
    public var uniquenessConstraints: [[String]]
    /// Names of properties that are fetched by, one list for each index.
    public var indexes: [[String]]
    /// The names of configurations it belongs to; it belongs to all when empty.
    public var configurations: Set<String> = []
    /// The name in the older model, for migration; the name by default.
    public var renamingIdentifier: String
    /// A text that changes the version hash.
    public var versionHashModifier: String?
    /// The table; its own name unless set.
    public var table: String?
    /// The key columns of an existing table; empty for tables that syncd makes.
    public var keyColumns: [KeyColumn] = []

    /// One column of a key.
    public struct KeyColumn: Sendable, Hashable, Codable {
        /// The column.
        public var column: String
        /// SQLite chooses the value of a new row.
        public var isRowID: Bool

        /// Names the column.
        public init(_ column: String, isRowID: Bool = false) {
            self.column = column
            self.isRowID = isRowID
        }
    }

    /// Makes an entity.
    ///
    /// - Parameters:
    ///   - name: Its name; the class's name unless given.
    ///   - objectClass: The Swift class of its objects, the type itself: it cannot be misspelt.
    ///   - parent: The entity that it inherits from.
    ///   - composites: Groups of attributes, stored as columns of their own.
    ///   - constraints: Names of attributes whose values together occur once only.
    ///   - indexes: Names of properties that are fetched by.
    public init(
        _ name: String? = nil, class objectClass: (any EntityObject.Type)? = nil,
        parent: String? = nil, attributes: [AttributeDescription] = [],
        relationships: [RelationshipDescription] = [], composites: [CompositeDescription] = [],
        constraints: [[String]] = [], indexes: [[String]] = []
    ) {
        self.name = name ?? objectClass?.entityName() ?? ""
        self.objectClass = objectClass
        self.parent = parent
        self.attributes = attributes + composites.flatMap { $0.flattened() }
        self.relationships = relationships
        uniquenessConstraints = constraints
        self.indexes = indexes
        renamingIdentifier = self.name
    }

    /// The same entity, known to have had another name in the older model.
    public func renamed(from identifier: String) -> Self {
        var entity = self
        entity.renamingIdentifier = identifier
        return entity
    }

    /// The same entity, without objects of its own.
    public func abstract() -> Self {
        var entity = self
        entity.isAbstract = true
        return entity
    }
}
