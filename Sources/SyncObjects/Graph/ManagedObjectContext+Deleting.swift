import SyncCore

// Deleting: first everything is read that the delete rules need, then everything is marked. A
// failed read therefore leaves nothing half deleted.

extension ManagedObjectContext {
    /// One object to delete, with the objects of its relationships.
    private struct PlannedDeletion {
        let object: ManagedObject
        let cause: GoneCause
        let related: [[ManagedObject]]
    }

    /// Marks an object for deletion, and applies its delete rules.
    ///
    /// An object that was never saved is gone at once. One that was deleted before is deleted.
    ///
    /// - Throws: ``ObjectError/Code/wrongContext`` for an object of another context or of none;
    ///   ``ObjectError/Code/gone`` for one that is out of reach while its row may exist;
    ///   an error of the store when something must be read. Nothing is marked then.
    public func delete(_ object: ManagedObject) throws {
        try requireOwn(object)
        try gate.locked {
            if object.phase == .gone, object.goneDetail?.cause.leavesRow == true {
                throw ObjectError(
                    .gone, "the object is gone from its context, but its row may exist",
                    hint: "Fetch the object again and delete that one", entity: object.entity.name,
                    object: object.identity)
            }
            try markDeleted(object)
        }
    }

    func markDeleted(_ object: ManagedObject) throws {
        try gate.locked {
            guard object.phase == .live || object.phase == .inserted else {
                if object.phase == .deletePending { object.prepareForDeletion() }
                return
            }
            var planned: [PlannedDeletion] = []
            var seen: Set<ObjectIdentifier> = []
            try strict { try gather(object, cause: .deleted, into: &planned, seen: &seen) }
            for item in planned { mark(item) }
        }
    }

    private func gather(
        _ object: ManagedObject, cause: GoneCause, into planned: inout [PlannedDeletion],
        seen: inout Set<ObjectIdentifier>
    ) throws {
        guard object.phase == .live || object.phase == .inserted,
            seen.insert(ObjectIdentifier(object)).inserted
        else { return }
        if object.current == nil { try fulfill(object) }
        guard object.phase != .gone else { return }
        let related = try object.entity.relations.indices.map { try object.readMembers($0) }
        planned.append(PlannedDeletion(object: object, cause: cause, related: related))
        for (relation, targets) in zip(object.entity.relations, related)
        where relation.description.deleteRule == .cascade {
            for target in targets {
                try gather(
                    target, cause: .cascade(of: object.identity), into: &planned, seen: &seen)
            }
        }
    }

    private func mark(_ item: PlannedDeletion) {
        let object = item.object
        guard object.phase == .live || object.phase == .inserted else { return }
        object.prepareForDeletion()
        undoLog?.note(
            .delete(object, wasInserted: object.phase == .inserted, values: object.current))
        let isNew = object.phase == .inserted
        object.phase = .deletePending
        unsaved.setDeleteCause(item.cause, of: object.identity)
        hold(object)
        touched.deleted.insert(object.identity)
        for (index, targets) in item.related.enumerated() {
            applyRules(to: object, relation: index, targets: targets)
        }
        removeMember(object)
        if isNew {
            release(object)
            object.phase = .gone
            object.goneDetail = Gone(.neverSaved)
            object.send(.gone(Gone(.neverSaved)))
        }
    }

    /// Applies the delete rules to the other ends. All of them were read by `gather`.
    private func applyRules(to object: ManagedObject, relation index: Int, targets: [ManagedObject])
    {
        let relation = object.entity.relations[index]
        if relation.description.deleteRule == .nullify,
            case .inverse(_, let slot, _) = relation.storage
        {
            for target in targets where target.current != nil { target.store(.null, atSlot: slot) }
        }
        if case .join(let join, let isSource) = relation.storage {
            setPairs(of: object, in: join, isSource: isSource, from: targets, to: [])
        }
    }
}

extension GoneCause {
    /// The object is gone from its context only: its row may still exist.
    fileprivate var leavesRow: Bool {
        switch self {
        case .contextReset, .storeReplaced, .merged: return true
        case .deleted, .cascade, .replaced, .neverSaved, .entityRemoved, .unknown: return false
        }
    }
}
