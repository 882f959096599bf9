import SyncMerge
import Varlink

/// The names of keys as lines of text, or as JSON; never the keys.
enum KeyText {
    static func lines(_ ring: KeyRing) -> [String] {
        var table = TextTable(styles: [.strong])
        for key in ring.keys {
            table.add(
                key.id.description, LocalTime.text(key.created),
                key.id == ring.active ? "active" : "for reading only")
        }
        return table.lines(on: .output)
    }

    static func json(_ key: StoreKey, in ring: KeyRing) -> JSONObject {
        [
            "key": .string(key.id.description), "created": .string(key.created.description),
            "active": .bool(key.id == ring.active),
        ]
    }
}
