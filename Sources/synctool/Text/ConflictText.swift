import SyncReplica
import Varlink

/// Conflicts as lines of text, or as JSON.
enum ConflictText {
    static func line(_ conflict: ConflictRecord) -> String {
        var text = "\(conflict.id)  " + Printable.text(conflict.path)
        if !conflict.properties.isEmpty {
            text += "  " + conflict.properties.map(Printable.text).joined(separator: ", ")
        }
        text += "  " + what(conflict)
        return conflict.isOpen ? text : text + "  (resolved)"
    }

    static func details(_ conflict: ConflictRecord) -> [String] {
        [
            line(conflict),
            "  current:    " + side(conflict.shown),
            "  overridden: " + side(conflict.losing),
        ]
    }

    private static func what(_ conflict: ConflictRecord) -> String {
        switch conflict.reason {
        case .lost:
            let losing =
                conflict.losing.values.pairs.isEmpty
                ? "a change" : TransactionText.values(conflict.losing.values)
            return "overridden: \(losing)" + by(conflict.losing)
        case .olderIncarnation: return "edited, but deleted and created again elsewhere"
        case .hidden where !conflict.wasDeleted:
            return "not shown: a constraint of this database refuses the row, or what it refers to "
                + "was deleted"
        case .hidden: return "edited, but deleted elsewhere" + by(conflict.shown)
        case .deleteLost: return "delete overridden" + by(conflict.losing)
        }
    }

    private static func side(_ side: ConflictRecord.Side) -> String {
        let values =
            side.values.pairs.isEmpty ? "deleted" : TransactionText.values(side.values)
        return values + by(side)
    }

    private static func by(_ side: ConflictRecord.Side) -> String {
        var text = ""
        if let author = side.author { text += " by \(Printable.text(author))" }
        if let replica = side.replica { text += " on \(replica.description.prefix(8))" }
        if let time = side.time { text += " at \(LocalTime.text(time))" }
        return text.isEmpty ? "" : "  (" + text.dropFirst() + ")"
    }

    static func json(_ conflict: ConflictRecord) -> JSONObject {
        [
            "id": .integer(conflict.id), "object": .string(conflict.path),
            "entity": .string(conflict.entity),
            "properties": .array(conflict.properties.map { .string($0) }),
            "reason": .string(conflict.reason.rawValue), "open": .bool(conflict.isOpen),
            "losing": .object(json(conflict.losing)), "shown": .object(json(conflict.shown)),
        ]
    }

    private static func json(_ side: ConflictRecord.Side) -> JSONObject {
        var writer = JSONWriter()
        writer.beginObject()
        for pair in side.values.pairs {
            writer.name(pair.name)
            writer.write(pair.value)
        }
        writer.endObject()
        let values = try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
        return [
            "values": values ?? .null, "author": .text(side.author),
            "timestamp": .text(side.time?.description),
            "replica": .text(side.replica?.description),
        ]
    }
}
