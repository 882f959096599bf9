import SyncCore
import SyncStorage

/// Closing the connections of a store that is not in use, and opening them at the next commit: a
/// connection keeps other programs from changing the journal mode, keeps a -wal beside the file,
/// and costs some 150 kB. The store stays open as seen from outside: its subscriptions stay live.
extension StoreHub {
    /// Whether the store is open and has a connection, or is about to have one.
    var isAwake: Bool {
        guard let opened = state.opened else { return false }
        return !opened.store.isResting || !state.isResting(opened.generation)
    }

    /// Has the store rest when it was not in use for ``StoreRest/idleTime``. Blocks: on the pool.
    ///
    /// - Returns: whether a connection was closed.
    func restIfIdle() -> Bool {
        guard isAwake, let opened = state.opened,
            opened.store.mayRest(idleFor: StoreRest.idleTime)
        else { return false }
        return resting.withLock { _ in
            guard state.mayRest, isEmptied(opened), state.beginRest(of: opened.generation) else {
                return false
            }
            do {
                if try rest(opened) {
                    state.recovered([.resting])
                    return true
                }
            } catch {
                troubled(.resting, by: error)
            }
            state.refuseRest()
            follow(opened)
            return false
        }
    }

    /// Whether the store is in WAL mode and its WAL has no frame. One that has is emptied now: that
    /// is a write, which the watch reports, and the store rests later.
    private func isEmptied(_ opened: OpenedStore) -> Bool {
        guard let isEmpty = try? opened.store.isWalEmpty() else { return false }
        if !isEmpty, (try? opened.store.emptyWal()) != true { state.refuseRest() }
        return isEmpty
    }

    private func rest(_ opened: OpenedStore) throws -> Bool {
        // Before the last look at the store: what is written from now on raises an event.
        opened.watcher.rest(opened.watch)
        return try opened.store.rest(idleFor: StoreRest.idleTime)
    }

    /// A commit, or an attempt at one, of a store that rests. On the watch thread, which other
    /// stores need meanwhile.
    func wakeLater(_ opened: OpenedStore) {
        guard state.beginWaking() else { return }
        let pin = opened.store.pinWal()
        environment.pool.submit(for: owner) { [self] isActive in
            guard isActive else { return state.failWaking() }
            marked { resting.withLock { _ in follow(opened) } }
            withExtendedLifetime(pin) {}
        }
    }

    /// Ends a rest: opens the connection, and has the watch follow the wal-index; its first event
    /// reads what was committed.
    private func follow(_ opened: OpenedStore) {
        do {
            let index = try opened.store.walIndex()
            state.setPace(index == nil ? .rollback : .wal)
            state.endRest()
            opened.watcher.setIndex(index, of: opened.watch)
            if opened.store.isForsaken { reopenForsaken() }
        } catch {
            state.failWaking()
            guard isCurrent(opened) else { return }
            readFailed(error as? SyncError, of: opened)
        }
    }
}
