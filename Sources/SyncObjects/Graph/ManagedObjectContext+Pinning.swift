import SyncCore

// Query generations: a context that stays at one state of the store.

extension ManagedObjectContext {
    /// Stays at the present state of the store: what others write and delete from now on is not
    /// seen, and what was not read yet can still be read. Ends with ``unpin()``; moves on with a
    /// save of this context, with ``mergeChanges()`` and with ``reset()``.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for a store in memory or not in WAL mode, and
    ///   for a child context.
    public func pin() throws {
        try performAndWait {
            guard parent == nil else {
                throw ObjectError(.invalidRequest, "a child sees what its parent sees")
            }
            setPin(try PinnedSnapshot(coordinator))
        }
    }

    /// Stays at the state at which another context of the store is pinned. Each moves on alone. A
    /// save is refused as long as both are there: it would move the other one.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` when the other one is not pinned, or of
    ///   another store, and for a child context.
    public func pin(to other: ManagedObjectContext) throws {
        // Never the locks of two siblings at once.
        let shared = other.gate.locked { other.pinned }
        try performAndWait {
            guard parent == nil, other.coordinator === coordinator, let shared else {
                throw ObjectError(
                    .invalidRequest, "there is no state of this store to stay at",
                    hint: "Pin the other context first")
            }
            setPin(shared)
        }
    }

    /// Sees the store as it is, and merges what others saved meanwhile.
    ///
    /// - Throws: what the store says; what was not merged is merged later.
    public func unpin() throws {
        gate.locked { setPin(nil) }
        try mergeChanges()
    }

    /// Since when the context stays at a state of the store, and what that costs; nil when it does
    /// not.
    public var pinnedState: PinnedState? { gate.locked { pinned?.pinned } }
}
