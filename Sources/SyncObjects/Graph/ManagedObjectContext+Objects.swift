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
    /// has are kept: only merges and refreshes change what somebody may be looking at.
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

    /// The objects that the context knows and that somebody holds.
    public var registeredObjects: Set<ManagedObject> {
        gate.locked { Set(registry.objects) }
    }

    /// New objects that are not saved yet.
    public var insertedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .inserted }) }
    }

    /// Objects with edits that are not saved yet.
    public var updatedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .live && $0.hasEdits }) }
    }

    /// Objects that the next save deletes.
    public var deletedObjects: Set<ManagedObject> {
        gate.locked { Set(unsaved.objects.filter { $0.phase == .deletePending }) }
    }

    /// There is something to save.
    public var hasChanges: Bool {
        gate.locked {
            unsaved.isSaveNeeded
        }
    }

    /// The object that the context knows by that identity; nil says nothing about the store.
    public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
        gate.locked {
            let object = registry[identities.resolve(id)]
            return object?.phase == .gone ? nil : object
        }
    }

    /// The object of that identity without looking whether it exists: a fault that finds out when
    /// it is read.
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
            throw ObjectError(.noSuchObject, "the id “\(id)” is of another store", object: id)
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
                    .staleIncarnation, "“\(id)” was deleted, and its key is another object's now",
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
        atReference key: ManagedObjectKey, _ relation: EntityLayout.Relation
    ) throws -> ManagedObject? {
        let origin = identities.origin(relation.destinationRoot)
        let id = identities.resolve(identities.id(in: origin, key: key))
        if let known = registry[id] { return known.phase == .gone ? nil : known }
        guard let entity = model.layouts[relation.description.destination] else { return nil }
        if entity.table.kindColumn == nil { return fault(id, entity: entity) }
        // Which class it has, the row alone knows.
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

    /// Drops what is not saved: new objects are gone, deleted ones are back, edits are undone.
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

    /// Drops the unsaved edits of one object; for one that is gone, so that the others can be
    /// saved.
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

    /// An object of another context is no object of this one, and neither is one of no context:
    /// what is asked for it would be done to nothing.
    ///
    /// The error does not name the object: its identity is guarded by the lock of its own context,
    /// which is not taken here. Two contexts that ask for each other's objects would wait forever.
    func requireOwn(_ object: ManagedObject) throws {
        guard object.contextReference !== self else { return }
        let isAlone = object.contextReference == nil
        throw ObjectError(
            .wrongContext,
            isAlone ? "the object has no context" : "the object is of another context",
            hint: "Get it with existingObject(with:) from this context",
            entity: object.entity.name)
    }

    /// Forgets every object. Those that somebody holds are gone, with their last known values.
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
