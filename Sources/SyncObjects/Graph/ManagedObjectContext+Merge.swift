import Foundation
import SyncCore

// Taking over what others saved. Unsaved edits stay on top; merging twice changes nothing more.

extension ManagedObjectContext {
    func merge(_ change: StoreChange) {
        if change.isLost { return lose() }
        defer { if change.isUnknown { lookAgain() } }
        for item in change.deleted {
            if let object = registry[item.id]?.object { markGone(object, item.gone) }
            touched.deleted.insert(item.id)
        }
        for row in change.updated {
            touched.updated.insert(row.id)
            guard let object = registry[row.id]?.object else { continue }
            mergeRow(object, row)
        }
        for row in change.inserted {
            touched.inserted.insert(row.id)
            noteReplaced(row.id)
            if let object = registry[row.id]?.object { mergeRow(object, row) }
        }
        if !change.isEmpty { dropMembers() }
        tellChildren(change, except: nil)
    }

    private func mergeRow(_ object: ManagedObject, _ row: StoredRow) {
        switch object.phase {
        case .live where object.current != nil: rebase(object, row.values)
        case .deletePending: object.committed = object.committed ?? row.values
        case .live, .inserted, .gone, .detached: break
        }
    }

    /// A key came back: the object that had it before says who has it now.
    private func noteReplaced(_ id: ObjectID) {
        guard id.incarnation > 1,
            let former = registry[id.with(incarnation: id.incarnation - 1)]?.object,
            former.phase == .gone
        else { return }
        former.goneDetail?.cause = .replaced(by: id)
        former.send(.gone(former.goneDetail ?? Gone(.replaced(by: id))))
    }

    /// The store is out of reach: so are its objects. Edits are kept.
    private func lose() {
        for object in registry.values.compactMap(\.object) {
            markGone(object, Gone(.storeReplaced))
        }
        dropMembers()
    }

    /// Reads every object again that somebody holds: somebody wrote, and nothing says what.
    private func lookAgain() {
        var byRoot: [String: [ManagedObject]] = [:]
        for object in registry.values.compactMap(\.object)
        where (object.phase == .live || object.phase == .deletePending) && object.current != nil {
            byRoot[object.entity.root, default: []].append(object)
        }
        var change = StoreChange()
        for (root, objects) in byRoot {
            guard let entity = model.layouts[root] else { continue }
            var query = ObjectQuery(entity: entity)
            query.keys = objects.map(\.identity.key)
            guard let rows = try? source.rows(query) else { continue }
            let found = Dictionary(
                rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            for object in objects {
                if let row = found[object.identity] {
                    if row.values != object.committed { change.updated.append(row) }
                } else {
                    change.deleted.append((object.entity, object.identity, Gone(.unknown)))
                }
            }
        }
        for item in change.deleted { coordinator.identities.retire(item.id) }
        dropMembers()
        if !change.isEmpty { merge(change) }
        // Lists may have new rows that no object stands for: they look for themselves.
        for observer in observers.values {
            observer.observer?.contextDidChange(self, TouchedObjects())
        }
    }
}
