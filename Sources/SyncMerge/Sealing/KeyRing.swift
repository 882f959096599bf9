/// The keys of a store: one to seal with, all to open with.
///
/// Rotation adds a key and never removes one: what was sealed before stays readable.
package struct KeyRing: Sendable, Hashable {
    /// The limit of keys in a ring: a rotation each week for twenty years.
    package static let keysMax = 1024

    /// The oldest first.
    package private(set) var keys: [StoreKey] = []
    /// The one that new batches are sealed with; nil in an empty ring.
    package private(set) var active: KeyID?

    /// No keys.
    package init() {}

    /// A ring of these keys.
    package init(_ keys: [StoreKey], active: KeyID?) {
        for key in keys { add(key, activating: key.id == active) }
    }

    /// The key with this name.
    package subscript(id: KeyID) -> StoreKey? { keys.first { $0.id == id } }

    /// The key that new batches are sealed with.
    package var activeKey: StoreKey? { active.flatMap { self[$0] } }

    /// Adds a key; a key that is already there is not changed.
    /// - Parameter activating: whether new batches are sealed with it from now on. The first key
    ///   always is.
    package mutating func add(_ key: StoreKey, activating: Bool) {
        if self[key.id] == nil {
            keys.append(key)
            keys.sort { ($0.created, $0.id.description) < ($1.created, $1.id.description) }
        }
        if activating || active == nil { active = key.id }
    }

    /// Adds the keys of another ring. The newer of the two active keys becomes active.
    /// - Returns: how many keys are new.
    @discardableResult
    package mutating func merge(_ other: KeyRing) -> Int {
        let before = keys.count
        for key in other.keys {
            let isNewest = key.id == other.active && key.created > activeKey?.created ?? key.created
            add(key, activating: isNewest)
        }
        return keys.count - before
    }
}
