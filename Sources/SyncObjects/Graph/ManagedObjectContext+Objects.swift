import Foundation
import SyncCore

// Objects by identity: making, finding, reading, deleting, forgetting.

extension ManagedObjectContext {
    // MARK: Making

    func seed(_ entity: EntityLayout) -> ObjectSeed {
        let key = coordinator.newKey(entity)
        let id = ObjectID(coordinator.identities.origin(entity.root), key)
        return ObjectSeed(
            entity: entity, id: id, gate: gate, context: self,
            values: entity.slots.map(\.defaultValue), phase: .inserted)
    }

    func adopt(_ object: ManagedObject) {
        gate.locked {
            registry[object.identity] = WeakObject(object: object)
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

    func objectClass(_ entity: EntityLayout) -> ManagedObject.Type {
        (entity.description.objectClass as? ManagedObject.Type) ?? ManagedObject.self
    }

    func hold(_ object: ManagedObject) {
        if pending.updateValue(object, forKey: object.identity) == nil {
            pendingOrder.append(object.identity)
        }
    }

    func release(_ object: ManagedObject) {
        if pending.removeValue(forKey: object.identity) != nil {
            pendingOrder.removeAll { $0 == object.identity }
        }
    }

    /// Objects with something to save, in the order in which they became so.
    var pendingObjects: [ManagedObject] { pendingOrder.compactMap { pending[$0] } }

    // MARK: Finding

    /// The object that the context has for a row; made when there is none. Values that the object
    /// has are kept: only merges and refreshes change what somebody may be looking at.
    func object(for row: StoredRow) -> ManagedObject {
        if let known = registry[row.id]?.object {
            if known.current == nil { fill(known, row.values) }
            return known
        }
        let object = objectClass(row.entity).init(
            ObjectSeed(
                entity: row.entity, id: row.id, gate: gate, context: self, values: row.values,
                phase: .live))
        register(object)
        object.awakeFromFetch()
        return object
    }

    func fault(_ id: ObjectID, _ entity: EntityLayout) -> ManagedObject {
        if let known = registry[id]?.object { return known }
        let object = objectClass(entity).init(
            ObjectSeed(
                entity: entity, id: id, gate: gate, context: self, values: nil, phase: .live))
        register(object)
        return object
    }

    func register(_ object: ManagedObject) {
        registry[object.identity] = WeakObject(object: object)
        if retainsRegisteredObjects { retained.insert(object) }
        if registry.count > registrySweepSize {
            registry = registry.filter { $0.value.object != nil }
            registrySweepSize = max(1024, registry.count * 2)
        }
    }

    private func fill(_ object: ManagedObject, _ values: [Value]) {
        object.committed = values
        object.current = values
        object.faultBatch = nil
        object.awakeFromFetch()
    }

    /// The objects that the context knows and that somebody holds.
    public var registeredObjects: Set<ManagedObject> {
        gate.locked { Set(registry.values.compactMap(\.object)) }
    }

    /// New objects that are not saved yet.
    public var insertedObjects: Set<ManagedObject> {
        gate.locked { Set(pending.values.filter { $0.phase == .inserted }) }
    }

    /// Objects with edits that are not saved yet.
    public var updatedObjects: Set<ManagedObject> {
        gate.locked { Set(pending.values.filter { $0.phase == .live && $0.hasEdits }) }
    }

    /// Objects that the next save deletes.
    public var deletedObjects: Set<ManagedObject> {
        gate.locked { Set(pending.values.filter { $0.phase == .deletePending }) }
    }

    /// There is something to save.
    public var hasChanges: Bool {
        gate.locked {
            !pending.isEmpty && pending.values.contains { $0.hasChanges || $0.phase == .gone }
                || joinEdits.values.contains { !$0.added.isEmpty || !$0.removed.isEmpty }
        }
    }

    /// The object that the context knows by that identity; nil says nothing about the store.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        gate.locked {
            let object = registry[coordinator.identities.resolve(id)]?.object
            return object?.phase == .gone ? nil : object
        }
    }

    /// The object of that identity without looking whether it exists: a fault that finds out when
    /// it is read.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity``, or ``ObjectError/Code/noSuchObject`` for an id
    ///   of another store.
    public func object(with id: ObjectID) throws -> ManagedObject {
        try gate.locked {
            let id = coordinator.identities.resolve(id)
            if let known = registry[id]?.object { return known }
            try check(id)
            return fault(id, try model.entity(id.entity))
        }
    }

    private func check(_ id: ObjectID) throws {
        guard id.store == coordinator.storeID else {
            throw ObjectError(.noSuchObject, "the id “\(id)” is of another store", object: id)
        }
    }

    /// The object of that identity, with its values: never a fault.
    ///
    /// - Throws: ``ObjectError/Code/noSuchObject``; ``ObjectError/Code/staleIncarnation`` when the
    ///   key is another object's now.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        try performAndWait {
            let id = coordinator.identities.resolve(id)
            if let known = registry[id]?.object, known.current != nil {
                guard known.phase == .gone || known.phase == .deletePending else { return known }
                throw missing(id, known.goneDetail)
            }
            try check(id)
            var query = ObjectQuery(entity: try model.entity(id.entity))
            query.keys = [id.key]
            guard let row = try source.rows(query).first else { throw missing(id, nil) }
            guard row.id == id else {
                throw ObjectError(
                    .staleIncarnation, "“\(id)” was deleted, and its key is another object's now",
                    entity: id.entity, object: id)
            }
            return object(for: row)
        }
    }

    func missing(_ id: ObjectID, _ gone: Gone?) -> ObjectError {
        var reason = "there is no object “\(id)”"
        if let author = gone?.author { reason += ": \(author) deleted it" }
        return ObjectError(.noSuchObject, reason, entity: id.entity, object: id)
    }

    /// The object that a reference names, which may be a fault.
    func object(
        atReference key: ObjectKey, _ relation: EntityLayout.Relation
    ) -> ManagedObject? {
        let origin = coordinator.identities.origin(relation.destinationRoot)
        let id = coordinator.identities.resolve(coordinator.identities.id(origin, key))
        if let known = registry[id]?.object { return known.phase == .gone ? nil : known }
        guard let entity = model.layouts[relation.description.destination] else { return nil }
        if entity.table.kindColumn == nil { return fault(id, entity) }
        // Which class it has, the row alone knows.
        var query = ObjectQuery(entity: entity)
        query.keys = [key]
        return (try? source.rows(query).first).map { object(for: $0) }
    }

    // MARK: Faults

    /// Reads a fault, and with it its neighbours of the same fetch. One whose row is missing is
    /// gone.
    func fulfill(_ object: ManagedObject) {
        guard object.phase != .gone, object.phase != .inserted else { return }
        var wanted = [object.identity]
        if let batch = object.faultBatch {
            wanted += batch.ids.filter { id in
                id != object.identity && registry[id]?.object?.current == nil
                    && registry[id]?.object != nil
            }
        }
        var query = ObjectQuery(entity: object.entity)
        query.keys = wanted.map(\.key)
        guard let rows = try? source.rows(query) else { return }
        var found = Set<ObjectID>()
        for row in rows {
            guard let known = registry[row.id]?.object, known.current == nil else { continue }
            found.insert(row.id)
            fill(known, row.values)
        }
        if !found.contains(object.identity) {
            let next = coordinator.identities.id(object.identity.origin, object.identity.key)
            let cause: GoneCause = next == object.identity ? .unknown : .replaced(by: next)
            markGone(object, Gone(rows.isEmpty ? .unknown : cause))
        }
    }

    func markGone(_ object: ManagedObject, _ gone: Gone) {
        guard object.phase != .gone else { return }
        let hadEdits = object.hasEdits || object.phase == .inserted
        object.phase = .gone
        object.goneDetail = gone
        touched.deleted.insert(object.identity)
        // Edits of a gone object stay in the way of the save until somebody decides about them.
        if !hadEdits { release(object) }
        retained.remove(object)
        dropMembers()
        object.send(.gone(gone))
    }

    /// Makes an unchanged object a fault again, or reads it anew.
    ///
    /// - Parameter mergeChanges: Reads it anew with its edits on top; else edits are dropped.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        gate.locked {
            guard object.phase == .live, object.contextReference === self else { return }
            if mergeChanges, object.hasEdits {
                var query = ObjectQuery(entity: object.entity)
                query.keys = [object.identity.key]
                guard let row = try? source.rows(query).first, row.id == object.identity else {
                    return markGone(object, Gone(.unknown))
                }
                rebase(object, row.values)
            } else {
                if object.hasEdits { touched.updated.insert(object.identity) }
                object.willTurnIntoFault()
                object.current = nil
                object.committed = nil
                release(object)
                object.didTurnIntoFault()
            }
            dropMembers()
        }
    }

    /// As `refresh(_:mergeChanges: true)` for every object that the context knows.
    public func refreshAllObjects() {
        gate.locked {
            for object in registry.values.compactMap(\.object) {
                refresh(object, mergeChanges: true)
            }
        }
    }

    /// Gives an object newly committed values, with its edits on top.
    func rebase(_ object: ManagedObject, _ values: [Value]) {
        guard let committed = object.committed, let current = object.current else {
            object.committed = values
            object.current = values
            return
        }
        var merged = values
        var changed: Set<String> = []
        for (index, slot) in object.entity.slots.enumerated() {
            if current[index] != committed[index] || slot.column == nil {
                merged[index] = current[index]
            } else if current[index] != values[index] {
                changed.insert(slot.name)
            }
        }
        object.committed = values
        object.current = merged
        if !object.hasEdits, object.phase == .live { release(object) }
        if !changed.isEmpty {
            touched.updated.insert(object.identity)
            object.send(.changed(changed))
        }
    }

    // MARK: Changing

    func change(_ object: ManagedObject, _ slot: Int, from old: Value, to new: Value) {
        object.current?[slot] = new
        undoLog?.note(.slot(object, slot, old: old))
        if object.phase == .live {
            if object.hasEdits { hold(object) } else { release(object) }
        }
        touched.updated.insert(object.identity)
        if case .reference(let relation) = object.entity.slots[slot].kind {
            moveMember(object, object.entity.relations[relation], from: old, to: new)
        }
    }

    /// Marks an object for deletion, and what its delete rules say with it.
    ///
    /// An object that was never saved is gone at once.
    public func delete(_ object: ManagedObject) {
        gate.locked {
            guard object.contextReference === self else { return }
            delete(object, .deleted)
        }
    }

    private func delete(_ object: ManagedObject, _ cause: GoneCause) {
        guard object.phase == .live || object.phase == .inserted else {
            if object.phase == .deletePending { object.prepareForDeletion() }
            return
        }
        if object.current == nil { fulfill(object) }
        guard object.phase != .gone else { return }
        object.prepareForDeletion()
        let related = object.entity.relations.indices.map { ($0, object.members($0)) }
        undoLog?.note(.delete(object, wasInserted: object.phase == .inserted))
        let isNew = object.phase == .inserted
        object.phase = .deletePending
        deleteCauses[object.identity] = cause
        hold(object)
        touched.deleted.insert(object.identity)
        for (index, members) in related { follow(object, index, members) }
        removeMember(object)
        if isNew {
            release(object)
            object.phase = .gone
            object.goneDetail = Gone(.neverSaved)
            object.send(.gone(Gone(.neverSaved)))
        }
    }

    private func follow(_ object: ManagedObject, _ index: Int, _ members: [ManagedObject]) {
        let relation = object.entity.relations[index]
        let targets: [ManagedObject]
        if case .reference = relation.storage {
            targets = [object.target(index)].compactMap { $0 }
        } else {
            targets = members
        }
        switch relation.description.deleteRule {
        case .cascade:
            for target in targets { delete(target, .cascade(of: object.identity)) }
        case .nullify:
            if case .inverse(_, let slot, _) = relation.storage {
                for target in targets { _ = target.setSlot(slot, .null) }
            }
        case .deny, .noAction: break
        }
        if case .join(let join, let isSource) = relation.storage {
            setPairs(object, join, isSource: isSource, targets, [])
        }
    }

    // MARK: Forgetting

    /// Drops what is not saved: new objects are gone, deleted ones are back, edits are undone.
    /// Nothing is read.
    public func rollback() {
        gate.locked {
            for object in pendingObjects {
                switch object.phase {
                case .inserted:
                    object.phase = .gone
                    object.goneDetail = Gone(.neverSaved)
                    touched.deleted.insert(object.identity)
                    object.send(.gone(Gone(.neverSaved)))
                case .deletePending:
                    object.phase = .live
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
        pending = [:]
        pendingOrder = []
        deleteCauses = [:]
        joinEdits = [:]
        dropMembers()
    }

    /// Drops the unsaved edits of one object; for one that is gone, so that the others can be
    /// saved.
    public func discardEdits(of object: ManagedObject) {
        gate.locked {
            guard object.contextReference === self else { return }
            touched.updated.insert(object.identity)
            if object.phase == .live || object.phase == .gone { object.current = object.committed }
            if object.phase == .live || object.phase == .gone { release(object) }
            dropMembers()
        }
    }

    /// Forgets every object. Those that somebody holds are gone, with their last known values.
    public func reset() {
        gate.locked {
            let objects = registry.values.compactMap(\.object) + pending.values
            registry = [:]
            retained = []
            forgetPending()
            undoLog?.clear()
            touched = TouchedObjects()
            for object in objects where object.phase != .gone {
                object.phase = .gone
                object.goneDetail = Gone(.contextReset)
                object.send(.gone(Gone(.contextReset)))
            }
            for observer in observers.values { observer.observer?.contextDidReset(self) }
            eventBroadcast.send(.didReset)
        }
    }

    /// Tells what changed since the last time, once. Called at the end of each unit of work.
    public func processPendingChanges() {
        gate.locked {
            undoLog?.closeStep()
            guard !touched.isEmpty else { return }
            var told = touched
            touched = TouchedObjects()
            told.updated.subtract(told.inserted)
            told.updated.subtract(told.deleted)
            for observer in observers.values { observer.observer?.contextDidChange(self, told) }
            eventBroadcast.send(
                .didChange(inserted: told.inserted, updated: told.updated, deleted: told.deleted))
        }
    }
}
