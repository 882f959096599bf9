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
            case .respelled(let column, let parent):
                let verb = rows.count == 1 ? "spells" : "spell"
                return "  \(count) of \(table) \(verb) \(Printable.text(column)) otherwise than "
                    + "\(Printable.text(parent)) does: for other replicas that is text, not a "
                    + "reference, because a UNIQUE or PRIMARY KEY of \(table), or of a table that "
                    + "refers to it, tells the two apart; spell it alike, or declare the column "
                    + "there with the COLLATE of the key"
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
                var (parent, spelled): (String?, String?)
                if case .dangling(let name) = rows.reason { parent = name }
                if case .respelled(let column, _) = rows.reason { spelled = column }
                return .object([
                    "table": .string(rows.table),
                    "rows": rows.count.map { .integer(Int64($0)) } ?? .null,
                    "missingFrom": .text(parent),
                    "respelled": .text(spelled),
                ])
            })
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        for line in lines { try Terminal.error.line(line) }
    }
}
