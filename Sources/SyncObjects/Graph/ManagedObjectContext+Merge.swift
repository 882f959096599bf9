import Foundation
import SyncCore

// Taking over what others saved. Unsaved edits stay on top; merging twice changes nothing more.

extension ManagedObjectContext {
    /// - Throws: what the store says, with nothing of the change merged that is not repeatable.
    func merge(_ change: StoreChange) throws {
        if change.isLost { return lose() }
        for item in change.deleted {
            touched.deleted.insert(item.id)
            guard let object = registry[item.id] else { continue }
            if object.phase == .gone {
                explain(object, with: item.gone)
            } else {
                markGone(object, because: item.gone)
            }
        }
        for row in change.updated {
            touched.updated.insert(row.id)
            if let object = registry[row.id] { mergeRow(object, with: row) }
        }
        for row in change.inserted {
            touched.inserted.insert(row.id)
            noteReplaced(row.id)
            if let object = registry[row.id] { mergeRow(object, with: row) }
        }
        if !change.isEmpty { dropMembers() }
        if !change.foreign.isEmpty { try mergeForeign(change.foreign) }
        if !change.unseen.isEmpty { try lookAgain(change.unseen) }
        tellChildren(change, except: nil)
    }

    private func mergeRow(_ object: ManagedObject, with row: StoredRow) {
        switch object.phase {
        case .live where object.current != nil: rebase(object, onto: row.values)
        case .deletePending:
            overtaken[row.id] = row.values == object.committed ? nil : row.values
        case .live, .inserted, .gone, .detached: break
        }
    }

    /// Reads what another process changed, of the objects that somebody holds: a commit costs what
    /// it changed, not what is held.
    private func mergeForeign(_ items: [StoreChange.Foreign]) throws {
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
                if let row = found[object.identity] { mergeRow(object, with: row) }
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
    private func lose() {
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
    private func lookAgain(_ roots: Set<String>) throws {
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
                    guard row.values != object.committed || overtaken[row.id] != nil else {
                        continue
                    }
                    touched.updated.insert(row.id)
                    mergeRow(object, with: row)
                } else {
                    missing.append(object)
                }
            }
        }
        // What a parent does not show may be in the store still.
        if parent == nil { try retire(missing.map(\.identity)) }
        for object in missing { markGone(object, because: Gone(.unknown)) }
        // Lists may have new rows that no object stands for: they look for themselves.
        touched.unseen.formUnion(roots)
    }
}
