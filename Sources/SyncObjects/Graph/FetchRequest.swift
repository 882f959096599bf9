import SyncCore

/// A query for objects: the entity, a condition, a sort order and options.
///
/// ```swift
/// let request = FetchRequest<Task>(
///     "C_Task", where: try FetchPredicate("completed == NO"), sortedBy: [SortKey("title")])
/// let tasks = try context.fetch(request)
/// ```
public struct FetchRequest<Object: ManagedObject>: Sendable {
    /// The entity; nil for the one that has the class `Object`.
    public var entityName: String?
    /// The condition; nil for all objects.
    public var predicate: FetchPredicate?
    /// The sort order. Ties are in the order of the keys.
    public var sortKeys: [SortKey]
    /// The greatest number of objects.
    public var limit: Int?
    /// The number of objects to skip.
    public var offset = 0
    /// Objects of entities that inherit are included.
    public var includesSubentities = true
    /// Unsaved changes of the context are included.
    public var includesPendingChanges = true
    /// If above 0, the objects are faults, and values are read for this number of objects at once.
    public var batchSize = 0
    /// To-one relationships whose objects are fetched as well, so that following them reads
    /// nothing.
    public var prefetchedRelationships: [String] = []

    /// Makes a request.
    public init(
        _ entityName: String? = nil, where predicate: FetchPredicate? = nil,
        sortedBy sortKeys: [SortKey] = [], limit: Int? = nil
    ) {
        self.entityName = entityName
        self.predicate = predicate
        self.sortKeys = sortKeys
        self.limit = limit
    }
}

extension SortKey {
    /// Orders by the property that a key path reads.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for a key path that reads no property.
    public init<Object: ManagedObject, Value>(
        _ keyPath: KeyPath<Object, Value>, ascending: Bool = true
    ) throws {
        guard let name = Object.propertyName(of: keyPath) else {
            throw ObjectError(.invalidRequest, "\(keyPath) reads no property of \(Object.self)")
        }
        self.init(name, ascending: ascending)
    }
}
