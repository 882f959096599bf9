import Foundation
import SyncCore

// Reading what is not in memory, and handling errors of that.
//
// A failed read is never taken for an answer. Calls that can throw do. An access that cannot throw
// (a property) returns nil, leaves the object a fault, and reports the error in three ways: in the
// object's `readError`, in the context's events, and by the error of the throwing call that it was
// part of, if there is one.

extension ManagedObjectContext {
    /// Reads a fault, together with the other faults of the same fetch. An object whose row is
    /// missing is marked as gone.
    ///
    /// - Throws: an error of the store; the object stays a fault.
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
        // If this context deletes the object as well, there is no conflict, and its edits do not
        // matter.
        let hadEdits =
            object.phase != .deletePending && (object.hasEdits || object.phase == .inserted)
        object.phase = .gone
        object.goneDetail = gone
        touched.deleted.insert(object.identity)
        // Edits of a gone object block the save until they are discarded or a policy resolves them.
        if !hadEdits { release(object) }
        stopRetaining(object)
        dropMembers()
        object.send(.gone(gone))
    }

    /// Turns an object into a fault, or reads it again.
    ///
    /// - Parameter mergeChanges: Reads the object again and keeps its edits. If false, edits are
    ///   dropped.
    /// - Throws: ``ObjectError/Code/wrongContext``, or an error of the store; the object is as it
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
    /// - Throws: the last error of the store, after all others were refreshed.
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
