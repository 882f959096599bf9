import SyncReplica
import Varlink

/// Conflicts as lines of text, or as JSON.
struct ConflictText {
    /// The names of the replicas.
    let names: KnownNames
    /// How times are shown.
    var times = TimeStyle.absolute

    func line(_ conflict: ConflictRecord) -> String {
        var text = "\(conflict.id)  " + Printable.text(conflict.path)
        if !conflict.properties.isEmpty {
            text += "  " + conflict.properties.map(Printable.text).joined(separator: ", ")
        }
        text += "  " + what(conflict)
        return conflict.isOpen ? text : text + "  (resolved)"
    }

    func details(_ conflict: ConflictRecord) -> [String] {
        let isHidden = conflict.isOpen && conflict.presence == .notShown
        let isHeld = conflict.reason == .deleteLost && conflict.isOpen
        let current =
            isHidden
            ? "not shown" + by(conflict.shown)
            : isHeld ? "shown, because other rows refer to it" : side(conflict.shown)
        var lines = [
            line(conflict),
            "  current:    " + current,
            "  overridden: " + side(conflict.losing),
        ]
        if let decision = conflict.decision {
            let wasHidden = conflict.reason == .hidden && conflict.shown.replica == nil
            lines[1] = "  was shown:  " + (wasHidden ? "not shown" : side(conflict.shown))
            lines.append("  resolved:   " + side(decision))
        }
        return lines
    }

    private func what(_ conflict: ConflictRecord) -> String {
        if conflict.isOpen, conflict.presence == .noTable {
            return "of a table that is not here" + by(conflict.losing)
        }
        switch conflict.reason {
        case .lost:
            let losing =
                conflict.losing.values.pairs.isEmpty
                ? "a change" : TransactionText.values(conflict.losing.values)
            return "overridden: \(losing)" + by(conflict.losing)
        case .olderIncarnation: return "edited, but deleted and created again elsewhere"
        case .hidden where !conflict.wasDeleted:
            let values = TransactionText.values(conflict.losing.values)
            return "not shown: a UNIQUE value of another row, a constraint, or a missing reference "
                + "keeps the row out: \(values)" + by(conflict.losing)
        case .hidden: return "edited, but deleted elsewhere" + by(conflict.shown)
        case .deleteLost: return "delete overridden" + by(conflict.losing)
        }
    }

    private func side(_ side: ConflictRecord.Side) -> String {
        if side.isDelete { return "deleted" + by(side) }
        let values = side.values.pairs.isEmpty ? "shown" : TransactionText.values(side.values)
        return values + by(side)
    }

    private func by(_ side: ConflictRecord.Side) -> String {
        var text = ""
        if let author = side.author { text += " by \(Printable.text(author))" }
        if let replica = side.replica { text += " on \(Printable.text(names.title(of: replica)))" }
        if let time = side.time {
            text += times == .absolute ? " at" : ""
            text += " " + LocalTime.text(time, as: times)
        }
        return text.isEmpty ? "" : "  (" + text.dropFirst() + ")"
    }

    func json(_ conflict: ConflictRecord) -> JSONObject {
        [
            "id": .integer(conflict.id), "object": .string(conflict.path),
            "entity": .string(conflict.entity),
            "properties": .array(conflict.properties.map { .string($0) }),
            "reason": .string(conflict.reason.rawValue), "open": .bool(conflict.isOpen),
            "state": .string(conflict.presence.rawValue),
            "losing": .object(json(conflict.losing)), "shown": .object(json(conflict.shown)),
            "decision": conflict.decision.map { .object(json($0)) } ?? .null,
        ]
    }

    private func json(_ side: ConflictRecord.Side) -> JSONObject {
        [
            "values": Self.json(side.values), "deleted": .bool(side.isDelete),
            "author": .text(side.author),
            "timestamp": .text(side.time?.description),
            "replica": .text(side.replica?.description),
            "replicaName": .text(side.replica.flatMap { names[$0] }),
        ]
    }

    fileprivate static func json(_ values: NamedValues) -> JSONValue {
        var writer = JSONWriter()
        writer.beginObject()
        for pair in values.pairs {
            writer.name(pair.name)
            writer.write(pair.value)
        }
        writer.endObject()
        return (try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))) ?? .null
    }
}

// MARK: Decisions

/// What a decision about a conflict does, as lines of text or as JSON.
enum OutcomeText {
    /// One line for each row; how many more there are.
    static func lines(_ outcome: ConflictOutcome) -> [String] {
        var lines = outcome.rows.prefix(rowsMax).map(line)
        let rest = outcome.rows.count - rowsMax
        if rest > 0 { lines.append("… and \(Plural.text(rest, of: "more row"))") }
        if let object = outcome.deletedObject {
            lines.append(
                "- \(Printable.object(object))  (it is not shown; deleted on all replicas)")
        }
        return lines
    }

    /// The lines that `conflicts show` has for a choice.
    static func lines(of preview: ConflictPreview, choice: String, path: TypedPath) -> [String] {
        let head = "  --keep \(choice): "
        switch preview {
        case .refused(let error):
            let hint = error.hint.map { "; " + Self.lowered(path.fillingIn($0)) } ?? ""
            return [head + "not possible: " + path.naming(error.reason) + hint]
        case .outcome(let outcome):
            let lines = lines(outcome)
            if lines.isEmpty { return [head + "no row changes here; the conflict is closed"] }
            let indent = String(repeating: " ", count: head.count)
            return [head + lines[0]] + lines.dropFirst().map { indent + String($0) }
        }
    }

    private static func lowered(_ text: String) -> String {
        text.prefix(1).lowercased() + text.dropFirst()
    }

    private static let rowsMax = 20

    private static func line(_ row: ConflictOutcome.Row) -> String {
        let path = Printable.object(row.path)
        switch row.kind {
        case .insert: return "+ \(path)  \(TransactionText.values(row.after))"
        case .delete: return "- \(path)  \(TransactionText.values(row.before))"
        case .update:
            let parts = zip(row.before.pairs, row.after.pairs).map { before, after in
                Printable.text(before.name) + " " + TransactionText.value(before.value) + " -> "
                    + TransactionText.value(after.value)
            }
            return "~ \(path)  " + parts.joined(separator: ", ")
        }
    }

    static func json(_ outcome: ConflictOutcome) -> JSONObject {
        [
            "changes": .array(
                outcome.rows.map { row in
                    .object([
                        "object": .string(row.path), "entity": .string(row.entity),
                        "kind": .string(row.kind.name),
                        "before": ConflictText.json(row.before),
                        "after": ConflictText.json(row.after),
                    ])
                }),
            "deletedObject": .text(outcome.deletedObject),
        ]
    }

    static func json(_ preview: ConflictPreview) -> JSONObject {
        switch preview {
        case .outcome(let outcome): return json(outcome)
        case .refused(let error):
            return ["refused": .string(error.reason), "hint": .text(error.hint)]
        }
    }
}
