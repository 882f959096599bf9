/// Identifies one object of one store: entity, key and incarnation.
///
/// The *incarnation* is the number of the transaction that created the object, or 0 when it was
/// there before history began. A key that was deleted and inserted again names another object than
/// before: equal entity and key, another incarnation.
public struct ObjectID: Sendable, Hashable {
    /// The store.
    public let store: StoreID
    /// The entity: the table's name.
    public let entity: String
    /// The primary key's values.
    public let key: ObjectKey
    /// The number of the transaction that created the object; 0: before history.
    public let incarnation: Int64

    /// Makes an identifier.
    public init(store: StoreID, entity: String, key: ObjectKey, incarnation: Int64 = 0) {
        self.store = store
        self.entity = entity
        self.key = key
        self.incarnation = incarnation
    }

    /// `Album/348`: the object within its store, as `history` prints it.
    public var path: String { PercentEscape.encode(entity) + "/" + key.description }

    /// Reads `Album/348`; nil when it is not entity, slash and key.
    public static func parse(path: String) -> (entity: String, key: ObjectKey)? {
        guard let slash = path.firstIndex(of: "/"),
            let entity = PercentEscape.decode(path[..<slash]), !entity.isEmpty,
            let key = ObjectKey(text: path[path.index(after: slash)...])
        else { return nil }
        return (entity, key)
    }
}

extension ObjectID: CustomStringConvertible {
    /// `syncd://STORE/Album/348#7`; ``init(uri:)`` reads it back.
    public var description: String {
        "syncd://\(store)/\(path)" + (incarnation == 0 ? "" : "#\(incarnation)")
    }

    /// Reads what ``description`` wrote; nil for anything else.
    public init?(uri: String) {
        let scheme = "syncd://"
        guard uri.hasPrefix(scheme) else { return nil }
        let rest = uri.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/"), let store = StoreID(String(rest[..<slash]))
        else {
            return nil
        }
        var path = rest[rest.index(after: slash)...]
        var incarnation: Int64 = 0
        if let mark = path.lastIndex(of: "#") {
            guard let number = Int64(path[path.index(after: mark)...]), number > 0 else {
                return nil
            }
            incarnation = number
            path = path[..<mark]
        }
        guard let (entity, key) = Self.parse(path: String(path)) else { return nil }
        self.init(store: store, entity: entity, key: key, incarnation: incarnation)
    }
}
