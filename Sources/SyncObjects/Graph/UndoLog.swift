import SyncCore

/// The steps that can be undone and redone. Confined to its context's gate.
///
/// A step is what happened between two calls of `processPendingChanges`. Changes by others are
/// never part of one.
final class UndoLog {
    enum Entry {
        case slot(ManagedObject, Int, old: Value)
        case insert(ManagedObject)
        /// With the object's values when it was marked. Later changes to an object that is to be
        /// deleted are not undone.
        case delete(ManagedObject, wasInserted: Bool, values: [Value]?)
        case pairs(PairsEntry)
    }

    /// A change of a table of pairs.
    struct PairsEntry {
        /// The edits of the table before the change. They are restored, unless a save has written
        /// them since.
        let former: SaveRequest.JoinEdit
        /// The number of saves before the change.
        let saves: Int
        /// The pairs that were added and removed; nil is no pair.
        let changes: [SaveRequest.Pair: Change]

        struct Change {
            let old: SaveRequest.PairOrder?
            let new: SaveRequest.PairOrder?
        }
    }

    private(set) var undoSteps: [[Entry]] = []
    private(set) var redoSteps: [[Entry]] = []
    private var open: [Entry] = []
    /// Where new entries go while a step is being undone or redone.
    private var direction = Direction.doing

    private enum Direction { case doing, undoing, redoing }

    /// Steps that are kept.
    private static let stepsMax = 200

    func note(_ entry: Entry) { open.append(entry) }

    func closeStep() {
        guard !open.isEmpty else { return }
        switch direction {
        case .doing:
            undoSteps.append(open)
            redoSteps = []
            if undoSteps.count > Self.stepsMax { undoSteps.removeFirst() }
        case .undoing: redoSteps.append(open)
        case .redoing: undoSteps.append(open)
        }
        open = []
    }

    func clear() {
        undoSteps = []
        redoSteps = []
        open = []
    }

    func takeUndo() -> [Entry]? {
        closeStep()
        return undoSteps.popLast()
    }

    func takeRedo() -> [Entry]? {
        closeStep()
        return redoSteps.popLast()
    }

    func run(undoing: Bool, _ body: () throws -> Void) rethrows {
        direction = undoing ? .undoing : .redoing
        defer {
            closeStep()
            direction = .doing
        }
        try body()
    }
}

extension ManagedObjectContext {
    /// There is something to undo.
    public var canUndo: Bool {
        gate.locked {
            undoLog?.closeStep()
            return undoLog?.undoSteps.isEmpty == false
        }
    }

    /// There is something to redo.
    public var canRedo: Bool { gate.locked { undoLog?.redoSteps.isEmpty == false } }

    /// Undoes the last step. Does nothing when there is none.
    ///
    /// - Throws: ``ObjectError/Code/cannotUndo`` when an object of the step was deleted elsewhere;
    ///   the rest of the step is undone.
    public func undo() throws {
        try performAndWait {
            processPendingChanges()
            guard let log = undoLog, let step = log.takeUndo() else { return }
            try log.run(undoing: true) { try revert(step) }
            processPendingChanges()
        }
    }

    /// Does the last undone step again. Does nothing when there is none.
    ///
    /// - Throws: as ``undo()``
    public func redo() throws {
        try performAndWait {
            processPendingChanges()
            guard let log = undoLog, let step = log.takeRedo() else { return }
            try log.run(undoing: false) { try revert(step) }
            processPendingChanges()
        }
    }

    private func revert(_ step: [UndoLog.Entry]) throws {
        var lost: [ObjectError] = []
        for entry in step.reversed() {
            switch entry {
            case .slot(let object, let slot, let old):
                if object.phase == .gone {
                    lost.append(
                        ObjectError(
                            .cannotUndo, "the object is gone", entity: object.entity.name,
                            property: object.entity.slots[slot].name, object: object.identity))
                } else if object.phase != .deletePending {
                    do {
                        _ = try object.setSlot(slot, to: old)
                    } catch {
                        lost.append(Self.readError(error, for: object))
                    }
                }
            case .insert(let object): try markDeleted(object)
            case .delete(let object, let wasInserted, let values):
                restore(object, wasInserted: wasInserted, values: values)
            case .pairs(let entry): revert(entry)
            }
        }
        guard lost.isEmpty else {
            throw ObjectError(.cannotUndo, "part of the step could not be undone", details: lost)
        }
    }

    private func revert(_ entry: UndoLog.PairsEntry) {
        let join = entry.former.join
        var edit = unsaved.joinEdit(of: join)
        undoLog?.note(
            .pairs(
                .init(
                    former: edit, saves: unsaved.saveCount,
                    changes: entry.changes.mapValues { .init(old: $0.new, new: $0.old) })))
        if entry.saves == unsaved.saveCount {
            edit = entry.former
        } else {
            for (pair, change) in entry.changes {
                edit.added[pair] = change.old
                if change.old == nil {
                    edit.removed.insert(pair)
                } else {
                    edit.removed.remove(pair)
                }
            }
        }
        unsaved.setJoinEdit(edit)
        dropMembers()
    }

    /// Takes a deletion back: an unsaved one directly, a saved one by inserting the object again.
    func restore(_ object: ManagedObject, wasInserted: Bool, values: [Value]?) {
        undoLog?.note(.insert(object))
        object.current = values ?? object.current
        let isSaved = object.phase == .gone && !wasInserted
        object.goneDetail = nil
        unsaved.setDeleteCause(nil, of: object.identity)
        if isSaved || wasInserted {
            makeNew(object)
        } else {
            object.phase = .live
            if let values = unsaved.newerValues(of: object.identity) {
                unsaved.setNewerValues(nil, of: object.identity)
                rebase(object, onto: values)
            }
            if !object.hasEdits { release(object) }
        }
        touched.inserted.insert(object.identity)
        dropMembers()
        object.send(.returned)
    }

    /// Makes a gone object a new one with the same key and its present values: the next
    /// incarnation.
    func makeNew(_ object: ManagedObject) {
        release(object)
        registry.remove(object)
        object.identity = identities.id(in: object.identity.origin, key: object.identity.key)
        object.phase = .inserted
        object.goneDetail = nil
        object.current = object.current ?? object.committed
        object.committed = nil
        registry.insert(object)
        hold(object)
    }
}
