import SyncCore

// Fetching: the rows of the store, with the unsaved changes of the context applied.

extension ManagedObjectContext {
    /// A request looked up in the model.
    struct BoundRequest {
        let query: ObjectQuery
        let includesPending: Bool
        let batchSize: Int
    }

    func bind<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> BoundRequest {
        let entity: EntityLayout
        if let name = request.entityName {
            entity = try model.entity(name)
        } else {
            entity = try model.entity(for: Object.self)
        }
        let found = objectClass(entity)
        guard found is Object.Type else {
            throw ObjectError(
                .classMismatch, "the class of “\(entity.name)” is \(found), not \(Object.self)",
                hint: "Name the class in its EntityDescription", entity: entity.name)
        }
        guard request.offset >= 0, request.limit.map({ $0 >= 0 }) ?? true else {
            throw ObjectError(.invalidRequest, "limit and offset must not be negative")
        }
        var query = ObjectQuery(entity: entity)
        query.includesSubentities = request.includesSubentities
        query.predicate = try request.predicate.map {
            try PredicateBinder(model: model, store: coordinator.storeID).bind($0, to: entity)
        }
        query.sort = try request.sortKeys.map { try BoundSortKey($0, entity: entity, model: model) }
        query.limit = request.limit
        query.offset = request.offset
        return BoundRequest(
            query: query, includesPending: request.includesPendingChanges,
            batchSize: request.batchSize)
    }

    /// Fetches the objects of a request.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid, or the store cannot be read.
    /// - Complexity: O(rows), and O(pending changes) where these can matter.
    public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
        try performAndWait {
            let bound = try bind(request)
            let objects = try fetch(bound)
            for name in request.prefetchedRelationships { try prefetch(name, of: objects) }
            return typed(objects, as: objectClass(bound.query.entity))
        }
    }

    /// Fetches every object of a class.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid, or the store cannot be read.
    /// - Complexity: O(rows)
    public func fetch<Object: ManagedObject>(_: Object.Type) throws -> [Object] {
        try fetch(FetchRequest<Object>())
    }

    /// The objects as instances of the requested class. The cast is unchecked for objects of the
    /// entity's own class, which was checked once.
    private func typed<Object: ManagedObject>(
        _ objects: [ManagedObject], as known: ManagedObject.Type
    ) -> [Object] {
        objects.compactMap {
            type(of: $0) == known ? unsafeDowncast($0, to: Object.self) : $0 as? Object
        }
    }

    func fetch(_ bound: BoundRequest) throws -> [ManagedObject] {
        if bound.includesPending, isOverlaid(bound.query) {
            return try strict { try fetchOverlaid(bound.query) }
        }
        if bound.batchSize > 0, bound.query.entity.table.kindColumn == nil {
            return try fetchFaults(bound)
        }
        let rows = try source.rows(bound.query)
        registry.reserveCapacity(for: rows.count)
        return rows.map { object(for: $0) }
    }

    private func fetchFaults(_ bound: BoundRequest) throws -> [ManagedObject] {
        let ids = try source.ids(bound.query)
        var objects: [ManagedObject] = []
        objects.reserveCapacity(ids.count)
        registry.reserveCapacity(for: ids.count)
        for start in stride(from: 0, to: ids.count, by: bound.batchSize) {
            let batch = FaultBatch(Array(ids[start..<min(start + bound.batchSize, ids.count)]))
            for id in batch.ids {
                let object = fault(id, entity: bound.query.entity)
                if object.current == nil { object.faultBatch = batch }
                objects.append(object)
            }
        }
        return objects
    }

    /// Reads the objects of a to-one relationship with one query.
    private func prefetch(_ name: String, of objects: [ManagedObject]) throws {
        guard let first = objects.first, let index = first.entity.relationIndex[name],
            case .reference(let slot) = first.entity.relations[index].storage,
            let entity = model.layouts[first.entity.relations[index].description.destination]
        else { return }
        var query = ObjectQuery(entity: entity)
        query.keys = Array(
            Set(try objects.compactMap { ManagedObjectKey(reference: try $0.readSlot(slot)) }))
        let targets = try source.rows(query).map { object(for: $0) }
        // Kept in memory by the objects that lead to them.
        for object in objects { object.prefetched = targets }
    }

    // MARK: Unsaved changes

    /// Whether unsaved changes could affect the result.
    private func isOverlaid(_ query: ObjectQuery) -> Bool {
        guard unsaved.hasObjects || unsaved.hasJoinEdits else { return false }
        var roots = query.predicate?.visited ?? []
        for key in query.sort { roots.formUnion(key.term.visited) }
        roots.insert(query.entity.root)
        if unsaved.hasJoinEdits, roots.count > 1 { return true }
        return unsaved.contains { roots.contains($0.entity.root) }
    }

    /// The store's rows without limit and offset, corrected by pending changes, then sorted and
    /// cut. If objects of other entities that the predicate refers to are pending, the predicate is
    /// evaluated in memory.
    private func fetchOverlaid(_ query: ObjectQuery) throws -> [ManagedObject] {
        var whole = query
        whole.limit = nil
        whole.offset = 0
        let visited = query.predicate?.visited ?? []
        let isFar =
            unsaved.hasJoinEdits && !visited.isEmpty
            || unsaved.contains { visited.contains($0.entity.root) }
        if isFar { whole.predicate = nil }
        if isFar || query.sort.contains(where: { !$0.term.visited.isEmpty }) { whole.sort = [] }
        var objects = try source.rows(whole).map { object(for: $0) }
            .filter { $0.phase == .live && (isFar || !$0.hasEdits) }
        let candidates =
            isFar
            ? objects + unsaved.objects.filter { $0.phase == .inserted }
            : unsaved.objects.filter { $0.phase == .inserted || $0.phase == .live && $0.hasEdits }
        let matching = candidates.filter { matches($0, query: query) }
        objects = isFar ? matching : objects + matching
        let sorted = sort(objects, by: query.sort)
        let start = min(query.offset, sorted.count)
        let end = query.limit.map { min(start + $0, sorted.count) } ?? sorted.count
        return Array(sorted[start..<end])
    }

    func matches(_ object: ManagedObject, query: ObjectQuery) -> Bool {
        let names = query.includesSubentities ? query.entity.family : [query.entity.name]
        guard names.contains(object.entity.name) else { return false }
        return query.predicate.map { PredicateEvaluator.evaluate($0, on: object) } ?? true
    }

    func sort(_ objects: [ManagedObject], by keys: [BoundSortKey]) -> [ManagedObject] {
        let rows = objects.map { object in (keys.map { $0.value(object) }, object) }
        return rows.sorted { left, right in
            for (index, key) in keys.enumerated() {
                let order = key.order(of: left.0[index], and: right.0[index])
                if order != 0 { return order < 0 }
            }
            return Self.precedes(left.1.identity.key, before: right.1.identity.key)
        }.map(\.1)
    }

    static func precedes(_ left: ManagedObjectKey, before right: ManagedObjectKey) -> Bool {
        for (first, second) in zip(left.values, right.values) {
            let order = PredicateEvaluator.order(of: first, and: second, as: .any)
            if order != 0 { return order < 0 }
        }
        return false
    }

    // MARK: Without objects

    /// Fetches the identities of a request's objects.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid, or the store cannot be read.
    /// - Complexity: O(rows)
    public func fetchIDs<Object: ManagedObject>(_ request: FetchRequest<Object>) throws
        -> [ManagedObjectID]
    {
        try performAndWait {
            let bound = try bind(request)
            if bound.includesPending, isOverlaid(bound.query) {
                return try strict { try fetchOverlaid(bound.query).map(\.identity) }
            }
            return try source.ids(bound.query)
        }
    }

    /// The number of objects of a request.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid, or the store cannot be read.
    /// - Complexity: That of SQLite's `count(*)`; O(rows) where unsaved changes matter.
    public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
        try performAndWait {
            let bound = try bind(request)
            if bound.includesPending, isOverlaid(bound.query) {
                return try strict { try fetchOverlaid(bound.query).count }
            }
            return try source.count(bound.query)
        }
    }

    /// Whether a request has any result.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid, or the store cannot be read.
    public func exists<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Bool {
        var one = request
        one.limit = 1
        return try count(for: one) > 0
    }
}
