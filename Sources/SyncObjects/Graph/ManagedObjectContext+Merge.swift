import Foundation
import SyncCore

// Taking over what others saved. Unsaved edits stay on top; merging twice changes nothing more.

extension ManagedObjectContext {
    /// Takes over one change. A change that could not be merged whole can be merged again.
    ///
    /// - Throws: ``ObjectError`` when the store cannot be read.
    func merge(_ change: StoreChange) throws {
        switch change {
        case .storeLost: return markAllLost()
        case .saved(let saved): merge(saved)
        case .committed(let committed):
            for item in committed.deleted { mergeDeletion(item) }
            if !committed.isEmpty { dropMembers() }
            try mergeRows(of: committed.changed)
        case .unknown(let roots):
            guard !roots.isEmpty else { return }
            dropMembers()
            try readAgain(roots)
        }
        notifyChildren(change, except: nil)
    }

    /// Takes over rows that are at hand: nothing is read, so that nothing can fail.
    private func merge(_ change: SavedChange) {
        for item in change.deleted { mergeDeletion(item) }
        for row in change.updated {
            touched.updated.insert(row.id)
            if let object = registry[row.id] { merge(object, with: row) }
        }
        for row in change.inserted {
            touched.inserted.insert(row.id)
            noteReplaced(row.id)
            if let object = registry[row.id] { merge(object, with: row) }
        }
        if !change.isEmpty { dropMembers() }
    }

    private func mergeDeletion(_ item: DeletedObject) {
        touched.deleted.insert(item.id)
        guard let object = registry[item.id] else { return }
        if object.phase == .gone {
            explain(object, with: item.gone)
        } else {
            markGone(object, because: item.gone)
        }
    }

    private func merge(_ object: ManagedObject, with row: StoredRow) {
        switch object.phase {
        case .live where object.current != nil: rebase(object, onto: row.values)
        case .deletePending:
            let isKnown = row.values == object.committed
            unsaved.setNewerValues(isKnown ? nil : row.values, of: row.id)
        case .live, .inserted, .gone, .detached: break
        }
    }

    /// Reads what another process changed, of the objects that somebody holds: a commit costs what
    /// it changed, not what is held.
    private func mergeRows(of items: [CommittedChange.Changed]) throws {
        var held: [ObjectIdentifier: (root: EntityLayout, objects: [ManagedObject])] = [:]
        for item in items {
            if item.isNew {
                noteReplaced(item.id)
                touched.inserted.insert(item.id)
            } else {
                touched.updated.insert(item.id)
            }
            guard let object = registry[item.id], isWatched(object) else { continue }
            held[ObjectIdentifier(item.root), default: (item.root, [])].objects.append(object)
        }
        for (root, objects) in held.values {
            let found = try present(objects, root: root)
            // One that is missing was deleted since: history tells of that next.
            for object in objects {
                if let row = found[object.identity] { merge(object, with: row) }
            }
        }
    }

    private func isWatched(_ object: ManagedObject) -> Bool {
        (object.phase == .live || object.phase == .deletePending) && object.current != nil
    }

    private func present(
        _ objects: [ManagedObject], root: EntityLayout
    ) throws -> [ManagedObjectID: StoredRow] {
        var query = ObjectQuery(entity: root)
        query.keys = objects.map(\.identity.key)
        return Dictionary(
            try source.rows(query).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// A key came back: the object that had it before says who has it now.
    private func noteReplaced(_ id: ManagedObjectID) {
        guard id.incarnation > 1,
            let former = registry[id.with(incarnation: id.incarnation - 1)],
            former.phase == .gone
        else { return }
        former.goneDetail?.cause = .replaced(by: id)
        former.send(.gone(former.goneDetail ?? Gone(.replaced(by: id))))
    }

    /// An object was found to be gone before somebody said why.
    private func explain(_ object: ManagedObject, with gone: Gone) {
        guard let known = object.goneDetail, known.transaction == nil,
            gone.transaction != nil || known.cause == .unknown
        else { return }
        var detail = gone
        if known.cause != .unknown { detail.cause = known.cause }
        guard detail != known else { return }
        object.goneDetail = detail
        object.send(.gone(detail))
    }

    /// The store is out of reach: so are its objects. Edits are kept, and objects that were never
    /// in it: the watch and the daemon may both tell, the second time after somebody made some.
    private func markAllLost() {
        for object in registry.objects where object.phase != .inserted {
            markGone(object, because: Gone(.storeReplaced))
        }
        dropMembers()
    }

    /// Notes that the rows of these objects are missing: what history tells of up to now is no
    /// other deletion.
    func retire(_ ids: [ManagedObjectID]) throws {
        guard !ids.isEmpty else { return }
        let position = try coordinator.logPosition()
        for id in ids {
            coordinator.identities.retire(id, at: position)
            pinned?.identities.retire(id, at: position)
        }
    }

    /// Reads every object of these entities again that somebody holds: somebody wrote, and nothing
    /// says what.
    private func readAgain(_ roots: Set<String>) throws {
        var byRoot: [String: [ManagedObject]] = [:]
        for object in registry.objects
        where isWatched(object) && roots.contains(object.entity.root) {
            byRoot[object.entity.root, default: []].append(object)
        }
        var missing: [ManagedObject] = []
        for (name, objects) in byRoot {
            guard let root = model.layouts[name] else { continue }
            let found = try present(objects, root: root)
            for object in objects {
                if let row = found[object.identity] {
                    guard row.values != object.committed || unsaved.newerValues(of: row.id) != nil
                    else {
                        continue
                    }
                    touched.updated.insert(row.id)
                    merge(object, with: row)
                } else {
                    missing.append(object)
                }
            }
        }
        // What a parent does not show may be in the store still.
        if parent == nil { try retire(missing.map(\.identity)) }
        for object in missing { markGone(object, because: Gone(.unknown)) }
        // Lists may have new rows that no object stands for: they look for themselves.
        touched.unknown.formUnion(roots)
    }
}
