/// The entities of a store and how they relate. Immutable and checked: every model is consistent.
///
/// ```swift
/// let model = try ManagedObjectModel([
///     EntityDescription("Group", attributes: [AttributeDescription("title")], relationships: [
///         .toMany("tasks", to: "Task", inverse: "group", deleteRule: .cascade)]),
///     EntityDescription("Task", attributes: [AttributeDescription("title")], relationships: [
///         .toOne("group", to: "Group", inverse: "tasks")]),
/// ])
/// ```
///
/// Any number of containers may use one model, or equal ones.
public final class ManagedObjectModel: Sendable {
    /// The entities, as they were given.
    public let entities: [EntityDescription]
    /// The name of this version of the model, for staged migration.
    public let versionIdentifier: String?
    let layouts: [String: EntityLayout]
    private let layoutsByClass: [ObjectIdentifier: EntityLayout]
    let tables: [TableLayout]
    let joins: [JoinLayout]

    /// Checks and resolves `entities`.
    ///
    /// - Throws: ``ObjectError/Code/invalidModel`` with one detail for each contradiction.
    public init(_ entities: [EntityDescription], version: String? = nil) throws {
        let problems = ModelCheck(entities).problems
        guard problems.isEmpty else {
            throw ObjectError(
                .invalidModel, "the model has contradictions", details: problems)
        }
        let resolved = ModelResolver(entities).resolve()
        self.entities = entities
        versionIdentifier = version
        layouts = resolved.layouts
        layoutsByClass = Dictionary(
            entities.compactMap { entity in
                guard let name = entity.objectClass, let layout = resolved.layouts[entity.name]
                else { return nil }
                return (ObjectIdentifier(name), layout)
            }, uniquingKeysWith: { first, _ in first })
        tables = resolved.tables
        joins = resolved.joins
    }

    /// The entity of that name.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity``
    public func entity(_ name: String) throws -> EntityLayout {
        if let layout = layouts[name] { return layout }
        throw ObjectError(
            .unknownEntity, "the model has no entity “\(name)”",
            hint: "Its entities are: \(layouts.keys.sorted().joined(separator: ", "))",
            entity: name)
    }

    /// The entity whose objects have that class.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity``
    public func entity(for objectClass: any EntityObject.Type) throws -> EntityLayout {
        if let layout = layoutsByClass[ObjectIdentifier(objectClass)] { return layout }
        throw ObjectError(
            .unknownEntity, "no entity of the model has the class \(objectClass)",
            hint: "Name the class in its EntityDescription")
    }

    /// The entities of a configuration; those that name none belong to each.
    public func entities(in configuration: String?) -> [EntityDescription] {
        guard let configuration else { return entities }
        return entities.filter {
            $0.configurations.isEmpty || $0.configurations.contains(configuration)
        }
    }

    /// The model of one configuration.
    ///
    /// - Throws: ``ObjectError/Code/invalidModel`` when a relationship leads out of it.
    public func restricted(to configuration: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities(in: configuration), version: versionIdentifier)
    }
}
