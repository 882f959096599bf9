import Foundation
import SyncCore
import Synchronization

/// Which incarnation a key is at, and what temporary ids became.
///
/// Invariants: the incarnation of a key only grows, one for each deletion that this process learned
/// of; a temporary number is never used twice; an alias never changes.
final class Identities: Sendable {
    let store: UUID
    private let state = Mutex(State())

    private struct State {
        var origins: [String: ManagedObjectID.Origin] = [:]
        /// The last incarnation of keys whose object was deleted.
        var retired: [RetiredKey: UInt32] = [:]
        /// How many deletions of a key history has told of, counting from those known before.
        var heard: [RetiredKey: UInt32] = [:]
        var aliases: [ManagedObjectID: ManagedObjectID] = [:]
        var lastTemporary: Int64 = 0
    }

    private struct RetiredKey: Hashable {
        let entity: String
        let key: ManagedObjectKey
    }

    init(store: UUID) { self.store = store }

    /// What is known now, without what will be learned.
    init(copying other: Identities) {
        store = other.store
        let known = other.state.withLock { $0 }
        state.withLock { $0 = known }
    }

    func origin(_ root: String) -> ManagedObjectID.Origin {
        state.withLock { state in
            if let origin = state.origins[root] { return origin }
            let origin = ManagedObjectID.Origin(store: store, entity: root)
            state.origins[root] = origin
            return origin
        }
    }

    /// The identity of the object that has this key now.
    func id(_ origin: ManagedObjectID.Origin, _ key: ManagedObjectKey) -> ManagedObjectID {
        let incarnation = state.withLock { state -> UInt32 in
            guard !state.retired.isEmpty,
                let last = state.retired[RetiredKey(entity: origin.entity, key: key)]
            else { return 1 }
            return last + 1
        }
        return ManagedObjectID(origin, key, incarnation: incarnation)
    }

    /// Notes that an object is no more: its key, if it comes back, is another one's.
    func retire(_ id: ManagedObjectID) {
        guard !id.isTemporary else { return }
        state.withLock {
            let key = RetiredKey(entity: id.entity, key: id.key)
            $0.retired[key] = max($0.retired[key] ?? 0, id.incarnation)
        }
    }

    /// History is read from here on: deletions known so far are not in what it will tell.
    func beginHearing() { state.withLock { $0.heard = $0.retired } }

    /// Notes a deletion that history tells of, and answers who was deleted.
    ///
    /// A deletion reaches this process twice: by the save that made it or met it, and by history.
    /// The n-th deletion of a key is the same one, whoever tells of it first.
    func hear(_ origin: ManagedObjectID.Origin, _ key: ManagedObjectKey) -> ManagedObjectID {
        state.withLock {
            let name = RetiredKey(entity: origin.entity, key: key)
            let number = ($0.heard[name] ?? 0) + 1
            $0.heard[name] = number
            $0.retired[name] = max($0.retired[name] ?? 0, number)
            return ManagedObjectID(origin, key, incarnation: number)
        }
    }

    /// Retires an object whose row is missing, which history will not tell of.
    func retireUnheard(_ id: ManagedObjectID) {
        guard !id.isTemporary else { return }
        state.withLock {
            let name = RetiredKey(entity: id.entity, key: id.key)
            guard ($0.retired[name] ?? 0) < id.incarnation else { return }
            $0.retired[name] = id.incarnation
            $0.heard[name] = id.incarnation
        }
    }

    func temporaryKey() -> ManagedObjectKey {
        state.withLock {
            $0.lastTemporary += 1
            return .temporary($0.lastTemporary)
        }
    }

    func alias(_ temporary: ManagedObjectID, _ permanent: ManagedObjectID) {
        state.withLock { $0.aliases[temporary] = permanent }
    }

    /// What a temporary id became; the id itself when it did not.
    func resolve(_ id: ManagedObjectID) -> ManagedObjectID {
        guard id.isTemporary else { return id }
        return state.withLock { $0.aliases[id] ?? id }
    }
}
