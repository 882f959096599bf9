import SyncReplica
import Varlink

/// The objects of the store's schema that are not in a database, and what to do about it.
struct RefusedText {
    /// How many lines of a text are shown.
    private static let linesMax = 40

    let refused: [RefusedObject]
    /// The path of the database, as the user typed it.
    let path: String

    /// Prints one line for each object on stderr.
    /// - Throws: ``OutputClosed``.
    func print() throws {
        for object in refused {
            try Terminal.error.line(
                "  not made: \(object.kind) '\(Printable.text(object.name))': "
                    + Printable.text(object.reason))
        }
        let database = Shell.quoted(path)
        if refused.contains(where: \.needsConsent) {
            try Terminal.error.line(
                "  To read what needs your consent, and make it: synctool schema \(database) "
                    + "--apply --allow-schema")
        } else if !refused.isEmpty {
            try Terminal.error.line("  To see the list again: synctool schema \(database)")
        }
    }

    /// Prints the texts of what needs consent on stderr.
    /// - Throws: ``OutputClosed``.
    func printTexts() throws {
        for object in refused where object.needsConsent {
            try Terminal.error.line("\(object.kind) '\(Printable.text(object.name))':")
            let lines = object.sql.split(separator: "\n", omittingEmptySubsequences: false)
            for line in lines.prefix(Self.linesMax) {
                try Terminal.error.line("    " + Printable.text(String(line)))
            }
            if lines.count > Self.linesMax {
                try Terminal.error.line("    … \(lines.count - Self.linesMax) more lines")
            }
        }
    }

    /// One object for each.
    var json: JSONValue {
        .array(
            refused.map { object in
                .object([
                    "kind": .string(object.kind), "name": .string(object.name),
                    "reason": .string(object.reason), "sql": .string(object.sql),
                    "needsConsent": .bool(object.needsConsent),
                ])
            })
    }
}
