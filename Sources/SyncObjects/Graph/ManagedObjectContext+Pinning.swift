import SyncCore

// Pinning: a context that stays at one state of the store (Core Data: query generations).

extension ManagedObjectContext {
    /// Pins the context at the present state of the store: what others write and delete from now on
    /// is not visible, and what was not read yet can still be read. Ends with ``unpin()``; moves on
    /// with a save of this context, with ``mergeChanges()`` and with ``reset()``.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for a store in memory or not in WAL mode, and
    ///   for a child context.
    public func pin() throws {
        try performAndWait {
            guard parent == nil else {
                throw ObjectError(.invalidRequest, "a child context sees what its parent sees")
            }
            setPin(try PinnedSnapshot(coordinator))
        }
    }

    /// Pins the context at the state at which another context of the store is pinned. Each can move
    /// on separately. A save is refused while both are pinned there: it would move the other one.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` when the other one is not pinned, or of
    ///   another store, and for a child context.
    public func pin(to other: ManagedObjectContext) throws {
        // The gates of two siblings are never held at once.
        let shared = other.gate.locked { other.pinned }
        try performAndWait {
            guard parent == nil, other.coordinator === coordinator, let shared else {
                throw ObjectError(
                    .invalidRequest, "the other context is not pinned at a state of this store",
                    hint: "Pin the other context first")
            }
            setPin(shared)
        }
    }

    /// Ends pinning, and merges what others saved meanwhile.
    ///
    /// - Throws: an error of the store; the remaining changes are merged later.
    public func unpin() throws {
        gate.locked { setPin(nil) }
        try mergeChanges()
    }

    /// Since when the context is pinned, and the size of the log that this causes; nil when it is
    /// not pinned.
    public var pinnedState: PinnedState? { gate.locked { pinned?.pinned } }
}
