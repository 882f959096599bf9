import Foundation
import SyncCore

// Reading what is not in memory yet, and what to do when that fails.
//
// A read that fails is never an answer. Calls that can throw do; an access that cannot (a property)
// answers nil, leaves the object a fault, and says so three times: in the object's `readError`, in
// the context's events, and by the error of the throwing call that it was part of, if there is one.

extension ManagedObjectContext {
    /// Reads a fault, and with it its neighbours of the same fetch. One whose row is missing is
    /// gone.
    ///
    /// - Throws: what the store says; the object is the fault that it was.
    func fulfill(_ object: ManagedObject) throws {
        guard object.phase != .gone, object.phase != .inserted else { return }
        var wanted = [object.identity]
        if let batch = object.faultBatch {
            wanted += batch.ids.filter { id in
                guard id != object.identity, let neighbour = registry[id] else {
                    return false
                }
                return neighbour.current == nil
            }
        }
        var query = ObjectQuery(entity: object.entity)
        query.keys = wanted.map(\.key)
        let rows = try source.rows(query)
        object.readFailure = nil
        var isFound = false
        for row in rows {
            guard let known = registry[row.id], known.current == nil else { continue }
            if known === object { isFound = true }
            fill(known, with: row.values)
        }
        guard !isFound else { return }
        let other = rows.first { $0.id.key == object.identity.key }?.id
        markGone(object, because: Gone(other.map { .replaced(by: $0) } ?? .unknown))
    }

    func fill(_ object: ManagedObject, with values: [Value]) {
        object.committed = values
        object.current = values
        object.faultBatch = nil
        object.readFailure = nil
        object.awakeFromFetch()
    }

    func markGone(_ object: ManagedObject, because gone: Gone) {
        guard object.phase != .gone else { return }
        // Where this context deletes the object, too, both want the same: edits decide nothing.
        let hadEdits =
            object.phase != .deletePending && (object.hasEdits || object.phase == .inserted)
        object.phase = .gone
        object.goneDetail = gone
        touched.deleted.insert(object.identity)
        // Edits of a gone object stay in the way of the save until somebody decides about them.
        if !hadEdits { release(object) }
        stopRetaining(object)
        dropMembers()
        object.send(.gone(gone))
    }

    /// Makes an unchanged object a fault again, or reads it anew.
    ///
    /// - Parameter mergeChanges: Reads it anew with its edits on top; else edits are dropped.
    /// - Throws: ``ObjectError/Code/wrongContext``, or what the store says; the object is as it
    ///   was.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try requireOwn(object)
        try gate.locked {
            guard object.phase == .live else { return }
            if mergeChanges, object.hasEdits {
                var query = ObjectQuery(entity: object.entity)
                query.keys = [object.identity.key]
                guard let row = try source.rows(query).first, row.id == object.identity else {
                    return markGone(object, because: Gone(.unknown))
                }
                rebase(object, onto: row.values)
                dropMembers()
            } else {
                forget(object)
            }
        }
    }

    /// Makes an object a fault; its edits are dropped.
    func forget(_ object: ManagedObject) {
        if object.hasEdits { touched.updated.insert(object.identity) }
        object.willTurnIntoFault()
        object.current = nil
        object.committed = nil
        release(object)
        object.didTurnIntoFault()
        dropMembers()
    }

    /// As `refresh(_:mergeChanges: true)` for every object that the context knows.
    ///
    /// - Throws: what the store says, after the others were refreshed.
    public func refreshAllObjects() throws {
        try gate.locked {
            var failure: (any Error)?
            for object in registry.objects {
                do { try refresh(object, mergeChanges: true) } catch { failure = error }
            }
            if let failure { throw failure }
        }
    }

    /// Gives an object newly committed values, with its edits on top.
    func rebase(_ object: ManagedObject, onto values: [Value]) {
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
}
