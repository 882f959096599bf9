import Foundation
import SyncCore
import Synchronization

/// The current incarnation of each key, and the permanent ids of temporary ones.
///
/// One deletion can be reported more than once: by the save that made or met it, by a read that
/// misses the row, and by history. Each key therefore has a position in the store's log: a deletion
/// that history reports up to that position is the known one, and a later one is a new deletion.
///
/// Invariants: the incarnation of a key only grows, and so does its position, but for
/// `forgetPositions`; a temporary number is never used twice; an alias never changes.
final class Identities: Sendable {
    let store: UUID
    private let state = Mutex(State())

    private struct State {
        var origins: [String: ManagedObjectID.Origin] = [:]
        /// By entity.
        var retired: [String: [ManagedObjectKey: Retired]] = [:]
        var aliases: [ManagedObjectID: ManagedObjectID] = [:]
        var lastTemporary: Int64 = 0

        mutating func change(
            _ id: ManagedObjectID, by body: (inout Retired) -> Void
        ) {
            body(&retired[id.entity, default: [:]][id.key, default: Retired()])
        }
    }

    /// What is known of a key whose object was deleted.
    fileprivate struct Retired: Sendable {
        /// The last incarnation that was deleted.
        var incarnation: UInt32 = 0
        /// The log row up to which that is so.
        var position: Int64 = 0
    }

    /// What was known of the keys of one entity at one moment.
    ///
    /// Take it *before* reading rows: a row that is deleted meanwhile then keeps the identity that
    /// it had. Taken afterwards, it would give the row the identity of an object that came back
    /// after the deletion, and no later event would correct that. Missing a deletion is harmless:
    /// history reports it next.
    struct Incarnations: Sendable {
        fileprivate let origin: ManagedObjectID.Origin
        fileprivate let retired: [ManagedObjectKey: Retired]

        /// The identity of the object that has this key.
        func id(_ key: ManagedObjectKey) -> ManagedObjectID {
            guard !retired.isEmpty, let last = retired[key] else {
                return ManagedObjectID(origin, key: key)
            }
            return ManagedObjectID(origin, key: key, incarnation: last.incarnation + 1)
        }
    }

    init(store: UUID) { self.store = store }

    /// A copy of what is known now.
    init(copying other: Identities) {
        store = other.store
        let known = other.state.withLock { $0 }
        state.withLock { $0 = known }
    }

    func origin(_ root: String) -> ManagedObjectID.Origin {
        state.withLock { Self.origin(of: root, store: store, in: &$0) }
    }

    private static func origin(
        of root: String, store: UUID, in state: inout State
    ) -> ManagedObjectID.Origin {
        if let origin = state.origins[root] { return origin }
        let origin = ManagedObjectID.Origin(store: store, entity: root)
        state.origins[root] = origin
        return origin
    }

    /// What is known now of the keys of an entity.
    func incarnations(_ root: String) -> Incarnations {
        state.withLock {
            Incarnations(
                origin: Self.origin(of: root, store: store, in: &$0),
                retired: $0.retired[root] ?? [:])
        }
    }

    /// The identity of the object that has this key now.
    func id(in origin: ManagedObjectID.Origin, key: ManagedObjectKey) -> ManagedObjectID {
        let last = state.withLock {
            $0.retired.isEmpty ? 0 : $0.retired[origin.entity]?[key]?.incarnation ?? 0
        }
        return ManagedObjectID(origin, key: key, incarnation: last + 1)
    }

    /// Records that an object was deleted: if its key comes back, it belongs to another object.
    ///
    /// - Parameter position: The end of the log when that was so, or later; 0 without history.
    func retire(_ id: ManagedObjectID, at position: Int64) {
        guard !id.isTemporary else { return }
        state.withLock {
            $0.change(id) {
                $0.incarnation = max($0.incarnation, id.incarnation)
                $0.position = max($0.position, position)
            }
        }
    }

    /// Records that an object came back with this id: deletions that history reports up to this
    /// position concern earlier objects.
    func revive(_ id: ManagedObjectID, at position: Int64) {
        guard id.incarnation > 1 else { return }
        state.withLock { $0.change(id) { $0.position = max($0.position, position) } }
    }

    /// Forgets log positions, because the log is read from a new position. Deletions before it are
    /// not reported again. Called before the new position is read.
    func forgetPositions() {
        state.withLock { state in
            for entity in state.retired.keys {
                state.retired[entity] = state.retired[entity]?.mapValues {
                    Retired(incarnation: $0.incarnation, position: 0)
                }
            }
        }
    }

    /// Records a deletion that history reports, and returns the deleted object's id.
    func recordDeletion(
        origin: ManagedObjectID.Origin, key: ManagedObjectKey, at position: Int64
    ) -> ManagedObjectID {
        state.withLock {
            var last: UInt32 = 1
            $0.change(ManagedObjectID(origin, key: key)) {
                if position > $0.position {
                    $0.incarnation += 1
                    $0.position = position
                }
                last = $0.incarnation
            }
            return ManagedObjectID(origin, key: key, incarnation: last)
        }
    }

    func temporaryKey() -> ManagedObjectKey {
        state.withLock {
            $0.lastTemporary += 1
            return .temporary($0.lastTemporary)
        }
    }

    func alias(_ temporary: ManagedObjectID, to permanent: ManagedObjectID) {
        state.withLock { $0.aliases[temporary] = permanent }
    }

    /// The permanent id of a temporary one; the id itself when there is none.
    func resolve(_ id: ManagedObjectID) -> ManagedObjectID {
        guard id.isTemporary else { return id }
        return state.withLock { $0.aliases[id] ?? id }
    }
}
