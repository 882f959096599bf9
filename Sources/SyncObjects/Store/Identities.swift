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
        var origins: [String: ObjectID.Origin] = [:]
        /// The last incarnation of keys whose object was deleted.
        var retired: [RetiredKey: UInt32] = [:]
        var aliases: [ObjectID: ObjectID] = [:]
        var lastTemporary: Int64 = 0
    }

    private struct RetiredKey: Hashable {
        let entity: String
        let key: ObjectKey
    }

    init(store: UUID) { self.store = store }

    func origin(_ root: String) -> ObjectID.Origin {
        state.withLock { state in
            if let origin = state.origins[root] { return origin }
            let origin = ObjectID.Origin(store: store, entity: root)
            state.origins[root] = origin
            return origin
        }
    }

    /// The identity of the object that has this key now.
    func id(_ origin: ObjectID.Origin, _ key: ObjectKey) -> ObjectID {
        let incarnation = state.withLock { state -> UInt32 in
            guard !state.retired.isEmpty,
                let last = state.retired[RetiredKey(entity: origin.entity, key: key)]
            else { return 1 }
            return last + 1
        }
        return ObjectID(origin, key, incarnation: incarnation)
    }

    /// Notes that an object is no more: its key, if it comes back, is another one's.
    func retire(_ id: ObjectID) {
        guard !id.isTemporary else { return }
        state.withLock {
            let key = RetiredKey(entity: id.entity, key: id.key)
            $0.retired[key] = max($0.retired[key] ?? 0, id.incarnation)
        }
    }

    func temporaryKey() -> ObjectKey {
        state.withLock {
            $0.lastTemporary += 1
            return .temporary($0.lastTemporary)
        }
    }

    func alias(_ temporary: ObjectID, _ permanent: ObjectID) {
        state.withLock { $0.aliases[temporary] = permanent }
    }

    /// What a temporary id became; the id itself when it did not.
    func resolve(_ id: ObjectID) -> ObjectID {
        guard id.isTemporary else { return id }
        return state.withLock { $0.aliases[id] ?? id }
    }
}
