import SyncReplica
import Varlink

/// Columns that replicas added with different defaults, as lines of text, and what to do.
struct DefaultsText {
    let differences: [DifferentDefault]
    var names = KnownNames()
    /// The path of the database, as the user typed it.
    let path: String

    var lines: [String] {
        differences.map { difference in
            let table = Printable.text(difference.entity)
            let column = Printable.text(difference.column)
            let name = Self.quoted(difference.column)
            let update =
                "UPDATE \(Self.quoted(difference.entity)) SET \(name) = \(difference.there) "
                + "WHERE \(name) IS \(difference.here)"
            let rows = Plural.text(difference.rows, of: "row")
            return "  differs: \(table).\(column): the default is "
                + "\(Printable.text(difference.here)) here and "
                + "\(Printable.text(difference.there)) on "
                + "\(Printable.text(names.title(of: difference.replica))), and \(rows) here "
                + "\(difference.rows == 1 ? "shows" : "show") it where no value was written. To "
                + "take the other value on all replicas: sqlite3 \(Shell.quoted(path)) "
                + Shell.quoted(Printable.text(update)) + "; then: synctool sync "
                + Shell.quoted(path)
        }
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// What docs/cli.md lists as `differentDefaults`.
    var json: JSONValue {
        .array(
            differences.map { difference in
                .object([
                    "entity": .string(difference.entity), "column": .string(difference.column),
                    "here": .string(difference.here), "there": .string(difference.there),
                    "replica": .string(difference.replica.description),
                    "rows": .integer(Int64(difference.rows)),
                ])
            })
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        for line in lines { try Terminal.error.line(line) }
    }
}
