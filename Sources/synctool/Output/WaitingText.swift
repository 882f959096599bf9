import SyncMerge
import Varlink

/// Changes that cannot be written to a table yet, and what to do about it.
struct WaitingText {
    let waiting: [WaitingChanges]
    /// The remote that the changes came from, where it is known.
    var remote: String?
    /// The path of the database, as the user typed it.
    let path: String
    /// Whether nothing of the store's schema is left to apply: it lacks what is missing here.
    var isApplied = false

    /// Prints one line for each table on stderr.
    ///
    /// - Throws: ``OutputClosed``.
    func print() throws {
        for text in lines { try Terminal.error.line(text) }
    }

    /// The same lines.
    var lines: [String] { waiting.map { "  " + line($0) } }

    /// One object for each table.
    var json: JSONValue {
        .array(
            waiting.map { changes in
                let columns: [String]
                switch changes.reason {
                case .noTable, .notTracked, .nameTaken: columns = []
                case .noColumns(let names), .columnNamesTaken(let names),
                    .otherKey(let names), .dropped(let names):
                    columns = names
                }
                return .object([
                    "entity": .string(changes.entity), "changes": .integer(Int64(changes.count)),
                    "reason": .string(Self.word(changes.reason)),
                    "columns": .array(columns.map { .string($0) }),
                ])
            })
    }

    private static func word(_ reason: WaitingChanges.Reason) -> String {
        switch reason {
        case .noTable: return "noTable"
        case .notTracked: return "notTracked"
        case .nameTaken: return "nameTaken"
        case .noColumns: return "noColumns"
        case .columnNamesTaken: return "columnNamesTaken"
        case .otherKey: return "otherKey"
        case .dropped: return "dropped"
        }
    }

    private func line(_ changes: WaitingChanges) -> String {
        let name = Self.quoted(changes.entity)
        let database = Shell.quoted(path)
        if case .dropped(let names) = changes.reason {
            let list = names.map(Self.quoted).joined(separator: ", ")
            let what = names.isEmpty ? "the table" : "the column \(list)"
            return "\(Plural.text(changes.count, of: "change")) of \(name) "
                + "\(changes.count == 1 ? "is" : "are") kept and not shown: \(what) was dropped by "
                + "the replica that had it. Nothing has to be done"
        }
        let verb = changes.count == 1 ? "waits" : "wait"
        var text = "\(Plural.text(changes.count, of: "change")) of \(name) \(verb): "
        switch changes.reason {
        case .dropped: break
        case .noTable:
            text += "this database has no table \(name)."
            text +=
                isApplied
                ? " The newest schema of the store has none either. Create it: synctool alter "
                    + "\(database) 'CREATE TABLE ...'; then run: synctool track \(database)"
                : " Run: \(remedy)"
        case .notTracked:
            text += "the table \(name) is not tracked in this database."
            text += " Run: synctool track \(database)"
        case .nameTaken(let first):
            text += nameTaken(name, first: Self.quoted(first), database: database)
        case .columnNamesTaken(let names):
            let list = names.map(Self.quoted).joined(separator: ", ")
            text += "the column \(list) of this database is another one, which was renamed, or was"
            text +=
                " added when the sender's had been renamed or dropped. To rename it as the store"
            text += " did: \(remedy). Or rename or drop it, then"
            text += " add the sender's: synctool alter \(database) 'ALTER TABLE ...'"
        case .noColumns(let names):
            let list = names.map(Self.quoted).joined(separator: ", ")
            text += "the table has no column \(list)."
            text +=
                isApplied
                ? " The newest schema of the store has none either. Add it: synctool alter "
                    + "\(database) \(Shell.quoted("ALTER TABLE \(changes.entity) ADD COLUMN ..."))"
                : " Run: \(remedy)"
        case .otherKey(let names):
            let list = names.map(Self.quoted).joined(separator: ", ")
            text += "this database has another table of this name, whose rows are identified by"
            text += " \(list) otherwise than the sender's. To have the rows of both in one table,"
            text += " make one of another name on each replica, copy the rows into it, and drop"
            text += " \(name): synctool alter \(database) SQL"
        }
        return text
    }

    private func nameTaken(_ name: String, first: String, database: String) -> String {
        (name == first
            ? "the sender has another table of this name, and renamed or dropped the one that is "
                + "here."
            : "the table \(name) of this database is another one, which was renamed from \(first).")
            + " To rename it as the store did: \(remedy). Or rename it, and create the sender's:"
            + " synctool alter \(database) 'ALTER TABLE ...';"
            + " then run: synctool track \(database)"
    }

    private var remedy: String {
        let from = remote.map { " --from \(Shell.quoted($0))" } ?? ""
        return "synctool schema \(Shell.quoted(path))\(from) --apply"
    }

    private static func quoted(_ name: String) -> String { "'\(Printable.text(name))'" }
}
