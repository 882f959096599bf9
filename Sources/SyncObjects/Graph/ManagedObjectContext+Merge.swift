import Foundation
import SyncCore

// Merging what others saved. Unsaved edits are kept; merging the same change twice has no further
// effect.

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

    /// Reads the rows that another process changed, of held objects. The cost is that of the
    /// changed rows, not of all held objects.
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
            // A missing row was deleted since; history reports that next.
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

    /// A key came back: records its new owner in the object that had it before.
    private func noteReplaced(_ id: ManagedObjectID) {
        guard id.incarnation > 1,
            let former = registry[id.with(incarnation: id.incarnation - 1)],
            former.phase == .gone
        else { return }
        former.goneDetail?.cause = .replaced(by: id)
        former.send(.gone(former.goneDetail ?? Gone(.replaced(by: id))))
    }

    /// Adds the cause to an object that was found to be gone.
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

    /// The store's file was removed or replaced, so that its objects are gone. Edits are kept. New
    /// objects are not affected: the loss may be reported twice, and objects may be made in
    /// between.
    private func markAllLost() {
        for object in registry.objects where object.phase != .inserted {
            markGone(object, because: Gone(.storeReplaced))
        }
        dropMembers()
    }

    /// Records that the rows of these objects are missing: a deletion that history reports up to
    /// now is this one.
    func retire(_ ids: [ManagedObjectID]) throws {
        guard !ids.isEmpty else { return }
        let position = try coordinator.logPosition()
        for id in ids {
            coordinator.identities.retire(id, at: position)
            pinned?.identities.retire(id, at: position)
        }
    }

    /// Reads every held object of these hierarchies again, because the change is not described.
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
        // A row that is missing in the parent may still be in the store.
        if parent == nil { try retire(missing.map(\.identity)) }
        for object in missing { markGone(object, because: Gone(.unknown)) }
        // There may be new rows without an object: lists fetch again.
        touched.unknown.formUnion(roots)
    }
}
