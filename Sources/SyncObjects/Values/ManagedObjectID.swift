import Foundation
import SyncCore

/// The identity of an object: its store, its entity, its key, and which of the objects that ever
/// had that key it is.
///
/// In tables that syncd made, an id is permanent from the birth of its object and is never assigned
/// to another one. In an existing table whose key comes from the row itself, a new object has a
/// temporary id until its first save; contexts find it under both.
public struct ManagedObjectID: Sendable {
    /// Where objects come from: one store, one entity.
    final class Origin: Sendable {
        let store: UUID
        let entity: String
        let seed: Int

        init(store: UUID, entity: String) {
            self.store = store
            self.entity = entity
            var hasher = Hasher()
            hasher.combine(store)
            hasher.combine(entity)
            seed = hasher.finalize()
        }
    }

    let origin: Origin
    /// The key of the row.
    public let key: ManagedObjectKey
    /// Counts the objects that had this key: 1 for the first, one more after each re-creation.
    public let incarnation: UInt32

    init(_ origin: Origin, key: ManagedObjectKey, incarnation: UInt32 = 1) {
        self.origin = origin
        self.key = key
        self.incarnation = incarnation
    }

    /// The store's identity.
    public var store: UUID { origin.store }
    /// The name of the entity; of the root of its hierarchy where entities inherit.
    public var entity: String { origin.entity }
    /// True until the first save of an object whose key comes from its row.
    public var isTemporary: Bool { key.isTemporary }

    /// The same key in another incarnation.
    func with(incarnation: UInt32) -> ManagedObjectID {
        ManagedObjectID(origin, key: key, incarnation: incarnation)
    }
}

extension ManagedObjectID: Hashable {
    /// Equal when store, entity, key and incarnation are equal.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.key == right.key, left.incarnation == right.incarnation else { return false }
        return left.origin === right.origin
            || (left.store == right.store && left.entity == right.entity)
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        // One word: keys are looked up for every object of every fetch.
        if case .integer(let number) = key {
            hasher.combine(origin.seed ^ Int(truncatingIfNeeded: number))
        } else {
            hasher.combine(origin.seed)
            hasher.combine(key)
        }
    }
}

extension ManagedObjectID: CustomStringConvertible, Comparable {
    /// `Album/348`
    public var description: String { "\(entity)/\(key)" }

    /// By entity, then by key as text; integer keys by number.
    public static func < (left: Self, right: Self) -> Bool {
        if left.entity != right.entity { return left.entity < right.entity }
        if case .integer(let first) = left.key, case .integer(let second) = right.key {
            return first < second
        }
        return left.key.description < right.key.description
    }
}

extension ManagedObjectID {
    /// `syncd://STORE/ENTITY/KEY`, with `#2` and so on for later incarnations.
    public var uriRepresentation: URL {
        let name = entity.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? entity
        var text = "syncd://\(store.uuidString)/\(name)/\(key.pathComponent)"
        if incarnation > 1 { text += "#\(incarnation)" }
        return URL(string: text) ?? URL(fileURLWithPath: "/")
    }

    /// The identity that `uri` names; nil when it is not such a URI.
    ///
    /// Says nothing about whether the store or the object exist: ask a context.
    public init?(uri: URL) {
        var text = uri.absoluteString[...]
        guard text.hasPrefix("syncd://") else { return nil }
        text = text.dropFirst("syncd://".count)
        var incarnation: UInt32 = 1
        if let mark = text.lastIndex(of: "#") {
            guard let number = UInt32(text[text.index(after: mark)...]) else { return nil }
            incarnation = number
            text = text[..<mark]
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let store = UUID(uuidString: String(parts[0])),
            let entity = parts[1].removingPercentEncoding, !entity.isEmpty,
            let key = ManagedObjectKey(pathComponent: parts[2])
        else { return nil }
        self.init(Origin(store: store, entity: entity), key: key, incarnation: incarnation)
    }
}
