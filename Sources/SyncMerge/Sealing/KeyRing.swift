import SyncValues

/// The keys of a store: one to seal with, all to open with.
///
/// Rotation adds a key and never removes one: what was sealed before stays readable. The new key
/// has a *cut*, what its maker had merged then: a batch that is sealed with an earlier key and
/// leads beyond it is refused, because a member without the new key can still make such batches.
package struct KeyRing: Sendable, Hashable {
    /// The limit of keys in a ring: a rotation each week for twenty years.
    package static let keysMax = 1024

    /// The oldest first.
    package private(set) var keys: [StoreKey] = []
    /// The one that new batches are sealed with; nil in an empty ring.
    package private(set) var active: KeyID?

    /// What the makers of keys had merged when these replaced earlier ones.
    package private(set) var cuts: [KeyID: VersionVector] = [:]

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

    /// Adds a key that replaces the others from a cut on.
    package mutating func rotate(to key: StoreKey, at cut: VersionVector) {
        if !keys.isEmpty { setCut(cut, of: key.id) }
        add(key, activating: true)
    }

    /// Stores the cut of a key.
    package mutating func setCut(_ cut: VersionVector, of id: KeyID) { cuts[id] = cut }

    /// The newest key that replaced the one of a batch before the batch was made; nil: the batch is
    /// accepted. A batch that some maker of a later key had merged is.
    package func replacement(of envelope: BatchEnvelope) -> KeyID? {
        guard let id = envelope.key, let place = keys.firstIndex(where: { $0.id == id }) else {
            return nil
        }
        let later = keys[(place + 1)...].filter { cuts[$0.id] != nil }
        let isKnown = later.contains { cuts[$0.id]?.covers(envelope.upTo) == true }
        return isKnown ? nil : later.last?.id
    }

    /// When the next key is made: after all others, whatever the clock says.
    package func creation(at time: Timestamp) -> Timestamp {
        guard let newest = keys.last?.created, newest >= time else { return time }
        return Timestamp(milliseconds: newest.milliseconds + 1)
    }

    /// Adds the keys of another ring. The newer of the two active keys becomes active.
    /// - Returns: how many keys are new.
    @discardableResult
    package mutating func merge(_ other: KeyRing) -> Int {
        let before = keys.count
        cuts.merge(other.cuts) { $0.joined($1) }
        for key in other.keys {
            let isNewest = key.id == other.active && key.created > activeKey?.created ?? key.created
            add(key, activating: isNewest)
        }
        return keys.count - before
    }
}
