import Glibc
import SyncCore
import Synchronization

/// The watch threads: one for the stores of the daemon's own user, one for those of each other
/// owner, so that a file that takes long to read delays the notices of its owner's stores alone.
///
/// A thread costs 250 µs of a processor each second, and an inotify instance. Owners beyond
/// ``othersMax`` share the last thread. Where the system has no thread or no instance left, stores
/// are watched by the daemon's own.
final class StoreWatchers: Sendable {
    private static let othersMax = 32

    /// Of the daemon's own stores.
    let own: StoreWatcher
    private let others = Mutex<[(owner: UInt32, watcher: StoreWatcher)]>([])

    private let user: UInt32

    /// - Parameter user: whose stores `own` watches: the daemon's user, in a worker its owner.
    /// - Throws: as ``StoreWatcher/init()``.
    init(of user: UInt32 = geteuid()) throws {
        self.user = user
        own = try StoreWatcher()
    }

    /// The watcher for a store of this owner.
    func watcher(for owner: UInt32) -> StoreWatcher {
        if owner == user { return own }
        return others.withLock { others in
            if let known = others.first(where: { $0.owner == owner }) { return known.watcher }
            if others.count >= Self.othersMax, let last = others.last { return last.watcher }
            guard let new = try? StoreWatcher() else { return own }
            others.append((owner, new))
            return new
        }
    }

    /// Ends all threads, and waits for them.
    func stop() {
        own.stop()
        for other in others.withLock({ $0 }) { other.watcher.stop() }
    }
}
