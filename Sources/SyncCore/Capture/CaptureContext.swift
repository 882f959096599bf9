import GRDB
import SyncStorage

/// What the rest of the schema means for the triggers of a table: triggers of the user that write
/// to it, and tables that refer to it by `ON DELETE CASCADE`.
struct CaptureContext {
    /// What it means for one table.
    struct Table: Hashable {
        /// A user trigger writes to this table, so that one statement on it can run inside another:
        /// the guard must then hold the victims of several.
        var isNested = false
        /// A delete of its rows can take rows of other tables, or its own, along.
        var isParent = false
        /// A delete of one of its rows can take another of its rows along.
        var reachesItself = false
    }

    /// Every name in the bodies of the user's triggers, folded.
    private let written: Set<String>
    /// By the parent's folded name: the tables that refer to it by `ON DELETE CASCADE`.
    private var children: [String: [String]] = [:]

    /// Reads the schema.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(schema); one is enough for any number of tables.
    init(_ db: Database) throws {
        written = try UserTriggers.names(db)
        let references = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name AS child, f."table" AS parent
                FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f
                WHERE m.type = 'table' AND f.on_delete = 'CASCADE'
                """)
        for row in references {
            children[SQLName.folded(row["parent"]), default: []].append(
                SQLName.folded(row["child"]))
        }
    }

    /// What it means for the table of that name. Errs on the side of nested, and of reaching.
    /// - Complexity: O(references of the schema).
    func table(_ name: String) -> Table {
        let folded = SQLName.folded(name)
        guard children[folded] != nil else {
            return Table(isNested: written.contains(folded))
        }
        let isNested = written.contains(folded)
        return Table(
            isNested: isNested, isParent: true, reachesItself: isNested || reachesItself(folded))
    }

    private func reachesItself(_ name: String) -> Bool {
        var found: Set<String> = []
        var open = children[name] ?? []
        while let next = open.popLast() {
            if next == name { return true }
            if found.insert(next).inserted { open += children[next] ?? [] }
        }
        return false
    }
}

extension CaptureContext.Table {
    /// Every context. Triggers made for one that is not nested miss, in one that is, the rows that
    /// a user trigger replaces inside of another statement, and no others.
    static let all = all(isNested: false) + all(isNested: true)

    /// Contexts whose triggers record the same rows, and other causes. Where no trigger writes to
    /// the table any more, those that reckon with one do.
    var variants: [Self] {
        (Self.all(isNested: true) + (isNested ? [] : Self.all(isNested: false)))
            .filter { $0 != self }
    }

    private static func all(isNested: Bool) -> [Self] {
        [false, true].flatMap { isParent in
            [false, true].map { reachesItself in
                Self(isNested: isNested, isParent: isParent, reachesItself: reachesItself)
            }
        }
    }
}
