import SyncCore

// Batches write many objects without loading them into the context: in one transaction, by the
// delete rules, on every kind of store. Every context is notified, including this one. Validation
// rules are not applied.

extension ManagedObjectContext {
    /// How often a batch is tried when others change the same rows.
    private static var batchAttemptsMax: Int { 10 }

    /// Inserts objects with these values. Omitted properties have the model's defaults.
    ///
    /// - Throws: ``ObjectError`` with nothing written.
    @discardableResult
    public func batchInsert(
        _ entity: String, objects: [[String: (any Sendable)?]]
    ) throws -> [ManagedObjectID] {
        let layout = try model.entity(entity)
        var request = batchRequest()
        for object in objects {
            var values = layout.slots.map(\.defaultValue)
            for (name, value) in object { try set(value, forKey: name, of: layout, in: &values) }
            let id = ManagedObjectID(
                identities.origin(layout.root), key: coordinator.newKey(layout))
            request.inserts.append(.init(entity: layout, id: id, values: values))
        }
        return try run { _ in request }.inserted.map(\.id)
    }

    /// Inserts objects with the values that `next` fills in, until it returns true. Values of that
    /// last call are ignored.
    ///
    /// - Throws: ``ObjectError`` with nothing written.
    @discardableResult
    public func batchInsert(
        _ entity: String, next: (inout [String: (any Sendable)?]) throws -> Bool
    ) throws -> [ManagedObjectID] {
        var objects: [[String: (any Sendable)?]] = []
        while true {
            var values: [String: (any Sendable)?] = [:]
            if try next(&values) { return try batchInsert(entity, objects: objects) }
            objects.append(values)
        }
    }

    /// Sets attributes or to-one relationships of the stored objects of a request.
    ///
    /// - Throws: ``ObjectError`` with nothing written.
    @discardableResult
    public func batchUpdate<Object: ManagedObject>(
        _ request: FetchRequest<Object>, set values: [String: (any Sendable)?]
    ) throws -> [ManagedObjectID] {
        let query = try gate.locked { try bind(request).query }
        return try run { rows in
            var request = batchRequest()
            for row in try rows(query) {
                var new = row.values
                for (name, value) in values {
                    try set(value, forKey: name, of: row.entity, in: &new)
                }
                guard new != row.values else { continue }
                request.updates.append(
                    .init(entity: row.entity, id: row.id, old: row.values, new: new))
            }
            return request
        }.updated.map(\.id)
    }

    /// Deletes the stored objects of a request, and applies the delete rules.
    ///
    /// - Throws: ``ObjectError/Code/deleteDenied``; an error of the store, with nothing deleted.
    @discardableResult
    public func batchDelete<Object: ManagedObject>(
        _ request: FetchRequest<Object>
    ) throws -> [ManagedObjectID] {
        let query = try gate.locked { try bind(request).query }
        return try run { rows in
            var request = batchRequest()
            request.deletes = try rows(query).map {
                .init(entity: $0.entity, id: $0.id, old: $0.values, cause: .deleted)
            }
            return request
        }.deleted.map(\.id)
    }

    private func batchRequest() -> SaveRequest {
        var request = SaveRequest()
        request.author = transactionAuthor
        request.contextName = name
        return request
    }

    private func set(
        _ value: (any Sendable)?, forKey name: String, of entity: EntityLayout,
        in values: inout [Value]
    ) throws {
        guard let slot = entity.slotIndex[name] else { throw entity.unknownProperty(name) }
        if case .reference = entity.slots[slot].kind {
            let constant = try PredicateConstant(value)
            switch constant {
            case .null: values[slot] = .null
            case .object(let id):
                guard case .reference(let relation) = entity.slots[slot].kind,
                    id.entity == entity.relations[relation].destinationRoot,
                    id.store == coordinator.storeID, !id.isTemporary,
                    let reference = id.key.reference
                else {
                    throw ObjectError(
                        .typeMismatch, "“\(id)” is not a saved object of the relationship's entity",
                        hint: "Save it first, or get it from a context of this store",
                        entity: entity.name, property: name)
                }
                values[slot] = reference
            default:
                throw ObjectError(
                    .typeMismatch, "expected an object or its id", entity: entity.name,
                    property: name)
            }
            return
        }
        values[slot] = try entity.slots[slot].coding.encode(value)
    }

    /// Another connection may write between the read and the write: then both are repeated.
    private func run(
        _ make: ((ObjectQuery) throws -> [StoredRow]) throws -> SaveRequest
    ) throws -> SavedChange {
        for _ in 0..<Self.batchAttemptsMax {
            let request = try make { try coordinator.rows($0) }
            guard !request.isEmpty else { return SavedChange() }
            do {
                return try coordinator.save(request, saver: nil).saved
            } catch let error as SaveConflicts {
                if case .constraint(let columns, _)? = error.conflicts.first?.kind {
                    throw ObjectError(
                        .constraintConflict, "the same \(columns.joined(separator: ", ")) twice",
                        object: error.conflicts.first?.id)
                }
            }
        }
        throw ObjectError(
            .storeFailure, "others changed the same objects during each attempt to write")
    }
}
