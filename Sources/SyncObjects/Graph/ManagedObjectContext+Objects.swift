import Foundation
import SyncCore

// Objects by identity: making, finding, reading, deleting, forgetting.

extension ManagedObjectContext {
    // MARK: Making

    func seed(_ entity: EntityLayout) -> ObjectSeed {
        let id = ManagedObjectID(origin(of: entity), key: coordinator.newKey(entity))
        return ObjectSeed(
            entity: entity, id: id, gate: gate, values: entity.defaults, phase: .inserted)
    }

    func adopt(_ object: ManagedObject) {
        gate.locked {
            registry.insert(object)
            hold(object)
            touched.inserted.insert(object.identity)
            undoLog?.note(.insert(object))
            object.awakeFromInsert()
        }
    }

    /// Makes an object of the named entity.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity``
    public func insert(_ entity: String) throws -> ManagedObject {
        let layout = try model.entity(entity)
        guard !layout.description.isAbstract else {
            throw ObjectError(
                .invalidRequest, "an abstract entity has no objects of its own", entity: entity)
        }
        let object = objectClass(layout).init(seed(layout))
        adopt(object)
        return object
    }

    func hold(_ object: ManagedObject) { unsaved.add(object) }

    func release(_ object: ManagedObject) { unsaved.remove(object) }

    /// The object of that identity, when it has something to save.
    func pendingObject(_ id: ManagedObjectID) -> ManagedObject? {
        registry[id].flatMap { $0.pendingNumber == 0 ? nil : $0 }
    }

    // MARK: Finding

    /// The object that the context has for a row; made when there is none. Values that the object
    /// has are kept: only merges and refreshes change them.
    func object(for row: StoredRow) -> ManagedObject {
        if let known = registry[row.id] {
            if known.current == nil { fill(known, with: row.values) }
            return known
        }
        let object = objectClass(row.entity).init(
            ObjectSeed(
                entity: row.entity, id: row.id, gate: gate, values: row.values,
                phase: .live))
        register(object)
        object.awakeFromFetch()
        return object
    }

    func fault(_ id: ManagedObjectID, entity: EntityLayout) -> ManagedObject {
        if let known = registry[id] { return known }
        let object = objectClass(entity).init(
            ObjectSeed(
                entity: entity, id: id, gate: gate, values: nil, phase: .live))
        register(object)
        return object
    }

    func register(_ object: ManagedObject) {
        registry.insert(object)
        retain(object)
    }

    /// The objects that the context knows and that are still in memory.
    ///
    /// - Complexity: O(known objects)
    public var registeredObjects: Set<ManagedObject> {
        gate.locked { Set(registry.objects) }
    }

    /// New objects that are not saved yet.
    ///
    /// - Complexity: O(objects with changes)
    public var insertedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .inserted }) }
    }

    /// Objects with edits that are not saved yet.
    ///
    /// - Complexity: O(objects with changes)
    public var updatedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .live && $0.hasEdits }) }
    }

    /// Objects that the next save deletes.
    ///
    /// - Complexity: O(objects with changes)
    public var deletedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .deletePending }) }
    }

    /// There is something to save.
    ///
    /// - Complexity: O(objects with changes)
    public var hasChanges: Bool {
        gate.locked {
            unsaved.isSaveNeeded
        }
    }

    /// The object that the context knows by that identity. Nil does not mean that the store has
    /// none.
    public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
        gate.locked {
            let object = registry[identities.resolve(id)]
            return object?.phase == .gone ? nil : object
        }
    }

    /// The object of that identity, without checking that it exists: a fault, which is gone if its
    /// row is missing when it is read.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity``, or ``ObjectError/Code/noSuchObject`` for an id
    ///   of another store.
    public func object(with id: ManagedObjectID) throws -> ManagedObject {
        try gate.locked {
            let id = identities.resolve(id)
            if let known = registry[id] { return known }
            try check(id)
            return fault(id, entity: try model.entity(id.entity))
        }
    }

    private func check(_ id: ManagedObjectID) throws {
        guard id.store == coordinator.storeID else {
            throw ObjectError(.noSuchObject, "the id “\(id)” belongs to another store", object: id)
        }
    }

    /// The object of that identity, with its values: never a fault.
    ///
    /// - Throws: ``ObjectError/Code/noSuchObject``; ``ObjectError/Code/staleIncarnation`` when the
    ///   key is another object's now.
    public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
        try performAndWait {
            let id = identities.resolve(id)
            if let known = registry[id], known.current != nil {
                guard known.phase == .gone || known.phase == .deletePending else { return known }
                throw missing(id, because: known.goneDetail)
            }
            try check(id)
            var query = ObjectQuery(entity: try model.entity(id.entity))
            query.keys = [id.key]
            guard let row = try source.rows(query).first else { throw missing(id, because: nil) }
            guard row.id == id else {
                throw ObjectError(
                    .staleIncarnation,
                    "“\(id)” was deleted, and its key belongs to another object now",
                    entity: id.entity, object: id)
            }
            return object(for: row)
        }
    }

    func missing(_ id: ManagedObjectID, because gone: Gone?) -> ObjectError {
        var reason = "there is no object “\(id)”"
        if let author = gone?.author { reason += ": \(author) deleted it" }
        return ObjectError(.noSuchObject, reason, entity: id.entity, object: id)
    }

    /// The object that a reference names, which may be a fault.
    func object(
        atReference key: ManagedObjectKey, along relation: EntityLayout.Relation
    ) throws -> ManagedObject? {
        let origin = identities.origin(relation.destinationRoot)
        let id = identities.resolve(identities.id(in: origin, key: key))
        if let known = registry[id] { return known.phase == .gone ? nil : known }
        guard let entity = model.layouts[relation.description.destination] else { return nil }
        if entity.table.kindColumn == nil { return fault(id, entity: entity) }
        // Only the row says which entity it belongs to.
        var query = ObjectQuery(entity: entity)
        query.keys = [key]
        return try source.rows(query).first.map { object(for: $0) }
    }

    // MARK: Changing

    func change(_ object: ManagedObject, slot: Int, from old: Value, to new: Value) {
        object.current?[slot] = new
        if object.phase != .deletePending { undoLog?.note(.slot(object, slot, old: old)) }
        if object.phase == .live {
            if new != object.committed?[slot] || object.hasEdits {
                hold(object)
            } else {
                release(object)
            }
        }
        touched.noteChange(of: object)
        if let relation = object.entity.slots[slot].relation {
            moveMember(object, along: object.entity.relations[relation], from: old, to: new)
        }
    }

    // MARK: Forgetting

    /// Drops unsaved changes: new objects are gone, deleted ones are restored, edits are undone.
    /// Nothing is read.
    public func rollback() {
        gate.locked {
            for object in unsaved.objects {
                switch object.phase {
                case .inserted:
                    object.phase = .gone
                    object.goneDetail = Gone(.neverSaved)
                    touched.deleted.insert(object.identity)
                    object.send(.gone(Gone(.neverSaved)))
                case .deletePending:
                    object.phase = .live
                    object.committed = unsaved.newerValues(of: object.identity) ?? object.committed
                    object.current = object.committed
                    touched.inserted.insert(object.identity)
                    object.send(.returned)
                case .live:
                    object.current = object.committed
                    touched.updated.insert(object.identity)
                    object.send(.changed(Set(object.entity.slots.map(\.name))))
                case .gone, .detached: break
                }
            }
            forgetPending()
            undoLog?.clear()
            processPendingChanges()
        }
    }

    func forgetPending() {
        unsaved.forget()
        dropMembers()
    }

    /// Drops the unsaved edits of one object. Use it for a gone object whose edits block a save.
    ///
    /// - Throws: ``ObjectError/Code/wrongContext``
    public func discardEdits(of object: ManagedObject) throws {
        try requireOwn(object)
        gate.locked { dropEdits(of: object) }
    }

    func dropEdits(of object: ManagedObject) {
        touched.updated.insert(object.identity)
        if object.phase == .live || object.phase == .gone { object.current = object.committed }
        if object.phase == .live || object.phase == .gone { release(object) }
        dropMembers()
    }

    /// Refuses an object of another context or of none: the call would have no effect on it.
    ///
    /// The error does not name the object: its identity is guarded by the gate of its own context.
    /// Taking that gate here could deadlock two contexts that are given each other's objects.
    func requireOwn(_ object: ManagedObject) throws {
        guard object.contextReference !== self else { return }
        let isAlone = object.contextReference == nil
        throw ObjectError(
            .wrongContext,
            isAlone ? "the object has no context" : "the object belongs to another context",
            hint: "Get it with existingObject(with:) from this context",
            entity: object.entity.name)
    }

    /// Forgets every object. Objects that the program still holds are gone, with their last known
    /// values.
    public func reset() {
        gate.locked {
            let objects = registry.objects
            do { try movePin() } catch { note(error, for: nil) }
            registry.removeAll()
            stopRetainingAll()
            forgetPending()
            undoLog?.clear()
            _ = touched.take()
            for object in objects where object.phase != .gone {
                object.phase = .gone
                object.goneDetail = Gone(.contextReset)
                object.send(.gone(Gone(.contextReset)))
            }
            notifyReset()
        }
    }
}
