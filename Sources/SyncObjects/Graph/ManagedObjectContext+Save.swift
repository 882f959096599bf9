import Foundation
import SyncCore

// Saving: everything or nothing. An error names each object that cannot be saved, with the reason.

extension ManagedObjectContext {
    /// How often a save is tried when each attempt meets new conflicts.
    private static var attemptsMax: Int { 10 }

    /// Writes what changed: to the store, or into the parent context. Does nothing when there are
    /// no changes.
    ///
    /// - Throws: ``ObjectError``, with nothing written and every edit kept. If there is more than
    ///   one reason, they are its `details`.
    public func save() throws {
        try performAndWait {
            processPendingChanges()
            guard hasChanges else { return }
            try checkPinIsOwn()
            for object in unsaved.objects where object.phase != .gone { object.willSave() }
            try strict { try validate() }
            var resolved: [ResolvedConflict] = []
            for _ in 0..<Self.attemptsMax {
                try refuseGone(&resolved)
                let request = makeRequest()
                do {
                    let result = try source.save(request, saver: self)
                    coordinator.note(resolved)
                    finish(result)
                    return
                } catch let error as SaveConflicts {
                    try resolve(error.conflicts, into: &resolved)
                }
            }
            throw ObjectError(
                .storeFailure, "others changed the same objects during each attempt to save",
                hint: "Save again, or save fewer objects at once")
        }
    }

    private func validate() throws {
        var problems: [ObjectError] = []
        for object in unsaved.objects where object.phase != .gone {
            guard object.hasChanges else { continue }
            var validation = ObjectValidation(of: object, model: model)
            validation.run()
            problems += validation.problems
        }
        if let readFailure { throw readFailure }
        try raise(
            problems, as: .multipleErrors, reason: "\(problems.count) validation rules are broken")
    }

    private func raise(
        _ problems: [ObjectError], as code: ObjectError.Code, reason: String
    ) throws {
        if problems.count == 1 { throw problems[0] }
        if problems.count > 1 { throw ObjectError(code, reason, details: problems) }
    }

    private func makeRequest() -> SaveRequest {
        var request = SaveRequest()
        request.author = transactionAuthor
        request.contextName = name
        for object in unsaved.objects {
            let id = object.identity
            switch object.phase {
            case .inserted:
                request.inserts.append(
                    .init(entity: object.entity, id: id, values: object.current ?? []))
            case .live:
                guard object.hasEdits, let old = object.committed, let new = object.current else {
                    continue
                }
                request.updates.append(.init(entity: object.entity, id: id, old: old, new: new))
            case .deletePending:
                guard let old = object.committed else { continue }
                request.deletes.append(
                    .init(
                        entity: object.entity, id: id, old: old,
                        cause: unsaved.deleteCause(of: id)))
            case .gone, .detached: continue
            }
        }
        for id in unsaved.checked.sorted() {
            guard let object = registry[id], object.pendingNumber == 0, let old = object.committed
            else { continue }
            request.checks.append(.init(entity: object.entity, id: id, old: old, new: old))
        }
        request.joins = unsaved.changedJoins
        return request
    }

    private func finish(_ result: SaveResult) {
        let saved = unsaved.objects
        for (old, new) in result.renamed { rename(old, to: new) }
        let gone = Dictionary(
            result.saved.deleted.map { ($0.id, $0.gone) }, uniquingKeysWith: { first, _ in first })
        var inserted: [ManagedObject] = []
        var updated: [ManagedObject] = []
        var deleted: [ManagedObject] = []
        for object in saved {
            switch object.phase {
            case .inserted:
                inserted.append(object)
                markSaved(object, with: result.corrected[object.identity]?.values)
            case .live:
                guard object.hasEdits else { continue }
                updated.append(object)
                markSaved(object, with: result.corrected[object.identity]?.values)
            case .deletePending:
                deleted.append(object)
                markDeletionSaved(object, because: gone[object.identity])
            case .gone, .detached: continue
            }
        }
        forgetPending()
        unsaved.noteSave()
        // Edits of an object that this save deleted end with it. Edits of an object that another
        // connection deleted block the next save.
        let ended = Set(deleted.map(ObjectIdentifier.init))
        for object in saved
        where object.phase == .gone && object.hasEdits && !ended.contains(ObjectIdentifier(object))
        {
            hold(object)
        }
        mergeUnrequested(result, beyond: inserted + updated)
        for object in saved where object.phase != .gone { object.didSave() }
        for object in deleted { object.didSave() }
        notifyChildren(.saved(result.saved), except: nil)
        processPendingChanges()
        guard eventBroadcast.hasListeners else { return }
        let ids = { (objects: [ManagedObject]) in Set(objects.map(\.identity)) }
        eventBroadcast.send(
            .didSave(inserted: ids(inserted), updated: ids(updated), deleted: ids(deleted)))
    }

    /// An object whose deletion is saved.
    private func markDeletionSaved(_ object: ManagedObject, because known: Gone?) {
        let gone =
            known
            ?? Gone(
                unsaved.deleteCause(of: object.identity), author: transactionAuthor, time: Date())
        object.phase = .gone
        object.goneDetail = gone
        stopRetaining(object)
        object.send(.gone(gone))
    }

    private func markSaved(_ object: ManagedObject, with values: [Value]?) {
        if var values {
            for (index, slot) in object.entity.slots.enumerated() where slot.column == nil {
                values[index] = object.current?[index] ?? .null
            }
            object.current = values
        }
        object.committed = object.current
        object.phase = .live
    }

    private func rename(_ old: ManagedObjectID, to new: ManagedObjectID) {
        guard let object = registry[old] else { return }
        if let from = old.key.reference, let to = new.key.reference, from != to {
            for other in unsaved.objects {
                for (slot, layout) in other.entity.slots.enumerated() {
                    if layout.relation != nil, other.current?[slot] == from {
                        other.current?[slot] = to
                    }
                }
            }
        }
        registry.remove(object)
        object.identity = new
        registry.insert(object)
    }

    /// Merges what the save did beyond its request: rows that delete rules found in the store.
    private func mergeUnrequested(_ result: SaveResult, beyond known: [ManagedObject]) {
        guard !result.corrected.isEmpty || !result.unrequested.isEmpty else { return }
        let known = Set(known.map(\.identity))
        var rest = SavedChange()
        let inserted = Set(result.saved.inserted.map(\.id))
        rest.updated = result.corrected.values.filter {
            !known.contains($0.id) && !inserted.contains($0.id)
        }
        rest.deleted = result.saved.deleted.filter { result.unrequested.contains($0.id) }
        // The rows are included: nothing is read, so that nothing can fail.
        if !rest.isEmpty { try? merge(.saved(rest)) }
    }

    // MARK: Conflicts

    /// Resolves edits of objects that are gone: by an error, by bringing the object back, or by
    /// dropping the edits.
    private func refuseGone(_ resolved: inout [ResolvedConflict]) throws {
        let gone = unsaved.objects.filter { $0.phase == .gone && $0.hasEdits }
        guard !gone.isEmpty else { return }
        var refused: [ObjectError] = []
        var policies: [MergePolicy] = []
        for object in gone {
            policies.append(try policy(for: object, kind: .deleted, stored: nil))
            if policies.last == .fail { refused.append(deletedElsewhere(object)) }
        }
        try raise(refused, as: .mergeConflict, reason: "\(refused.count) objects were deleted")
        for (object, policy) in zip(gone, policies) {
            try resolveDeleted(object, by: policy, into: &resolved)
        }
    }

    private func deletedElsewhere(_ object: ManagedObject) -> ObjectError {
        var reason = "it was deleted elsewhere"
        if let author = object.goneDetail?.author { reason += " by \(author)" }
        return ObjectError(
            .deletedElsewhere, reason,
            hint: "Its edits are kept. Call discardEdits(of:), or save with mergePolicy keepLocal",
            entity: object.entity.name, object: object.identity)
    }

    private func resolveDeleted(
        _ object: ManagedObject, by policy: MergePolicy, into resolved: inout [ResolvedConflict]
    ) throws {
        resolved.append(record(object, stored: nil, policy: policy))
        if policy.restoresDeleted {
            try retire([object.identity])
            makeNew(object)
            touched.inserted.insert(object.identity)
            object.send(.returned)
        } else {
            object.current = object.committed
            release(object)
        }
    }

    private func record(
        _ object: ManagedObject, stored: [Value]?, policy: MergePolicy
    ) -> ResolvedConflict {
        let named = { (values: [Value]) in
            Dictionary(
                zip(object.entity.slots.map(\.name), values),
                uniquingKeysWith: { first, _ in first })
        }
        return ResolvedConflict(
            object: object.identity, stored: stored.map(named),
            local: object.phase == .deletePending ? nil : object.current.map(named),
            base: object.committed.map(named) ?? [:], policy: policy, time: Date())
    }

    private func resolve(
        _ conflicts: [SaveConflict], into resolved: inout [ResolvedConflict]
    ) throws {
        var refused: [SaveConflict] = []
        var policies: [MergePolicy] = []
        for conflict in conflicts {
            policies.append(try policy(conflict))
            guard policies.last == .fail else { continue }
            refused.append(conflict)
            if case .deleted = conflict.kind, let object = known(conflict.id) {
                markGone(object, because: Gone(.unknown))
            }
        }
        try raise(
            refused.map(error), as: .mergeConflict,
            reason: "\(refused.count) objects were changed elsewhere")
        for (conflict, policy) in zip(conflicts, policies) {
            unsaved.uncheck(conflict.id)
            guard let object = pendingObject(conflict.id) else {
                takeChecked(conflict)
                continue
            }
            switch conflict.kind {
            case .changed(let row):
                resolved.append(record(object, stored: row.values, policy: policy))
                resolveChanged(object, stored: row, by: policy)
            case .deleted:
                markGone(object, because: Gone(.unknown))
                try resolveDeleted(object, by: policy, into: &resolved)
            case .deleteOfChanged(let row):
                resolved.append(record(object, stored: row.values, policy: policy))
                resolveDelete(object, stored: row, by: policy)
            case .constraint(_, let other):
                guard let other else { throw error(conflict) }
                resolved.append(record(object, stored: other.values, policy: policy))
                try resolveConstraint(object, with: other, by: policy)
            }
        }
    }

    private func known(_ id: ManagedObjectID) -> ManagedObject? {
        registry[id]
    }

    /// Takes over the stored state of an object that was only checked.
    private func takeChecked(_ conflict: SaveConflict) {
        guard let object = known(conflict.id) else { return }
        switch conflict.kind {
        case .changed(let row): rebase(object, onto: row.values)
        case .deleted: markGone(object, because: Gone(.unknown))
        case .deleteOfChanged, .constraint: break
        }
    }

    /// The policy for one conflict: the resolver's answer, or else the context's policy.
    private func policy(
        for object: ManagedObject, kind: MergeConflict.Kind, stored: [Value]?
    ) throws -> MergePolicy {
        guard let conflictResolver else { return mergePolicy }
        let record = record(object, stored: stored, policy: mergePolicy)
        return try conflictResolver(
            MergeConflict(
                object: object, kind: kind, stored: record.stored, local: record.local,
                base: record.base))
    }

    private func policy(_ conflict: SaveConflict) throws -> MergePolicy {
        guard let object = known(conflict.id) else { return mergePolicy }
        switch conflict.kind {
        case .changed(let row): return try policy(for: object, kind: .changed, stored: row.values)
        case .deleted: return try policy(for: object, kind: .deleted, stored: nil)
        case .deleteOfChanged(let row):
            return try policy(for: object, kind: .deletionOfChanged, stored: row.values)
        case .constraint(let columns, let other):
            return try policy(for: object, kind: .constraint(columns), stored: other?.values)
        }
    }

    private func resolveChanged(
        _ object: ManagedObject, stored row: StoredRow, by policy: MergePolicy
    ) {
        guard let base = object.committed, let local = object.current else { return }
        if row.id != object.identity {
            return markGone(object, because: Gone(.replaced(by: row.id)))
        }
        object.committed = row.values
        touched.updated.insert(object.identity)
        switch policy {
        case .fail, .overwrite: break
        case .discardLocal: object.current = row.values
        case .keepLocal, .keepStored:
            var merged = row.values
            for index in merged.indices where local[index] != base[index] {
                let isContested = row.values[index] != base[index]
                if !isContested || policy == .keepLocal { merged[index] = local[index] }
            }
            object.current = merged
        }
        if !object.hasEdits { release(object) }
        dropMembers()
    }

    private func resolveDelete(
        _ object: ManagedObject, stored row: StoredRow, by policy: MergePolicy
    ) {
        object.committed = row.values
        unsaved.setNewerValues(nil, of: object.identity)
        if !policy.restoresDeleted {
            // The store wins: the object stays, as it is there.
            touched.inserted.insert(object.identity)
            object.phase = .live
            object.current = row.values
            release(object)
            object.send(.returned)
            dropMembers()
        }
    }

    /// Resolves equal unique values: the local object becomes an update of the stored one, or is
    /// dropped in favour of it.
    private func resolveConstraint(
        _ object: ManagedObject, with other: StoredRow, by policy: MergePolicy
    ) throws {
        let stored = self.object(for: other)
        if stored.current == nil { try fulfill(stored) }
        let values = object.current ?? []
        let wasNew = object.phase == .inserted
        touched.updated.insert(object.identity)
        if !wasNew {
            object.current = object.committed
            release(object)
            return
        }
        release(object)
        object.phase = .gone
        object.goneDetail = Gone(.merged(into: other.id))
        touched.deleted.insert(object.identity)
        object.send(.gone(Gone(.merged(into: other.id))))
        guard policy.restoresDeleted else { return }
        for (index, slot) in stored.entity.slots.enumerated()
        where index < values.count && slot.column != nil && !slot.isDerived {
            if policy == .overwrite || values[index] != slot.defaultValue {
                _ = try stored.setSlot(index, to: values[index])
            }
        }
    }

    private func error(_ conflict: SaveConflict) -> ObjectError {
        let entity = conflict.id.entity
        switch conflict.kind {
        case .changed(let row):
            var names: [String] = []
            if let object = pendingObject(conflict.id), let base = object.committed {
                names = zip(object.entity.slots, zip(base, row.values))
                    .filter { $0.1.0 != $0.1.1 }.map(\.0.name)
            }
            return ObjectError(
                .mergeConflict, "others changed \(names.joined(separator: ", "))",
                hint: "Call refresh(_:mergeChanges:), or set another mergePolicy", entity: entity,
                object: conflict.id)
        case .deleted:
            if let object = registry[conflict.id] { return deletedElsewhere(object) }
            return ObjectError(
                .deletedElsewhere, "it was deleted elsewhere", entity: entity, object: conflict.id)
        case .deleteOfChanged:
            return ObjectError(
                .deleteOfChangedObject, "others changed an object that is to be deleted",
                hint: "Call refresh(_:mergeChanges:), or set another mergePolicy", entity: entity,
                object: conflict.id)
        case .constraint(let columns, let other):
            let owner = other.map { " as “\($0.id)”" } ?? ""
            let what =
                columns.isEmpty ? "values of a UNIQUE constraint" : columns.joined(separator: ", ")
            return ObjectError(
                .constraintConflict, "the same \(what)\(owner)",
                entity: entity, property: columns.first, object: conflict.id)
        }
    }
}
