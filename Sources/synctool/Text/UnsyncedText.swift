import SyncReplica
import Varlink

/// Rows that synchronising leaves out, as lines of text.
struct UnsyncedText {
    let rows: [UnsyncedRows]
    let path: String

    var lines: [String] {
        rows.map { rows in
            let table = Printable.text(rows.table)
            let count = Plural.text(rows.count ?? 0, of: "row")
            switch rows.reason {
            case .nullKey:
                return "  not synchronised: \(count) of \(table) with NULL in the primary key; "
                    + "give them a key"
            case .unmerged(let reason):
                return "  not synchronised: \(table) (\(count)): \(Printable.text(reason)); "
                    + "to synchronise it, change its foreign keys"
            case .unrecorded(let table):
                return "  not synchronised: " + table.text
            case .unwritable(let table):
                return "  " + UnwritableText.line(table)
                    + "; drop the index, CHECK or generated column that needs it"
            case .dangling(let parent):
                let verb = rows.count == 1 ? "refers" : "refer"
                return "  \(count) of \(table), which is not synchronised, \(verb) to rows of "
                    + "\(Printable.text(parent)) that are not there; list them: sqlite3 "
                    + "\(Shell.quoted(path)) "
                    + Shell.quoted("PRAGMA foreign_key_check(\(quoted(rows.table)))")
            }
        }
    }

    private func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// What docs/cli.md lists as `unsynced`.
    var json: JSONValue {
        .array(
            rows.map { rows in
                var parent: String?
                if case .dangling(let name) = rows.reason { parent = name }
                return .object([
                    "table": .string(rows.table),
                    "rows": rows.count.map { .integer(Int64($0)) } ?? .null,
                    "missingFrom": .text(parent),
                ])
            })
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        for line in lines { try Terminal.error.line(line) }
    }
}
