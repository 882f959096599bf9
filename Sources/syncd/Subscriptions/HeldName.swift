import SyncCore

/// The name of an object as holds compare it: entities without regard to ASCII case, as SQLite
/// does.
struct HeldName: Hashable {
    let entity: String
    let key: ObjectKey

    init(_ name: HistoryQuery.ObjectName) {
        entity = Self.folded(name.entity)
        key = name.key
    }

    init(_ object: ObjectID) {
        entity = Self.folded(object.entity)
        key = object.key
    }

    private static func folded(_ name: String) -> String {
        let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard name.utf8.contains(where: upper.contains) else { return name }
        return String(
            decoding: name.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
