import SyncClient
import SyncCore
import Varlink

/// Objects as they were, as lines of text or as JSON.
enum PastText {
    /// What is shown of a value that was not kept.
    private static let unknown = "?"

    /// One line for each property.
    static func lines(_ past: PastObject) -> [String] {
        guard past.isPresent else { return [] }
        var table = TextTable(styles: [.strong])
        for pair in past.values.pairs {
            table.add(pair.name, pair.value.description)
        }
        for name in past.unknown {
            table.add(name, unknown + " (its old values were not kept)")
        }
        return table.lines(on: .output)
    }

    /// `~ Album/348  Title 'Load' -> 'Load (Live)'`
    static func line(_ difference: ObjectDifference) -> String {
        let name = Printable.text(difference.object.path)
        let (before, after) = (difference.before, difference.after)
        guard before.isPresent else {
            return Terminal.output.styled("+ \(name)", as: .added) + "  "
                + TransactionText.values(after.values)
        }
        guard after.isPresent else {
            return Terminal.output.styled("- \(name)", as: .gone) + "  "
                + TransactionText.values(before.values)
        }
        let properties = difference.properties.map { property in
            "\(Printable.text(property)) \(TransactionText.value(before.values[property])) -> "
                + TransactionText.value(after.values[property])
        }
        return Terminal.output.styled("~ \(name)", as: .changed) + "  "
            + properties.joined(separator: ", ")
    }

    static func json(_ past: PastObject, of object: ObjectName, at token: Token) -> JSONObject {
        var json: JSONObject = [
            "object": .string(object.path), "at": .string(token.description),
        ]
        json["values"] = values(past)
        json["unknown"] = .array(past.unknown.map { .string($0) })
        return json
    }

    static func json(_ difference: ObjectDifference) -> JSONObject {
        [
            "object": .string(difference.object.path), "before": values(difference.before),
            "after": values(difference.after),
            "properties": .array(difference.properties.map { .string($0) }),
        ]
    }

    /// By property; null for an object that did not exist.
    private static func values(_ past: PastObject) -> JSONValue {
        guard past.isPresent else { return .null }
        var writer = JSONWriter()
        writer.beginObject()
        for pair in past.values.pairs {
            writer.name(pair.name)
            writer.write(pair.value)
        }
        writer.endObject()
        return (try? JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))) ?? .null
    }
}
