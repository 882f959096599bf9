import SyncMerge
import SyncReplica
import Varlink

/// A comparison of a database with the schema of its store, as text or as JSON.
struct SchemaText {
    private static let sqlWidth = 160

    /// How the database is now.
    let comparison: SchemaComparison
    /// What was to be applied.
    let changes: [SchemaComparison.Change]
    /// What could not be applied.
    let failed: [RefusedObject]
    let isApplied: Bool
    let waiting: [WaitingChanges]
    let remote: String?
    /// The path of the database, as the user typed it.
    let path: String
    /// Whether all was merged that the remote has.
    var isHeardWhole = true

    /// Whether the database has all that the schema of the store has, and nothing waits for it.
    var isComplete: Bool {
        comparison.changes.isEmpty && comparison.differences.isEmpty && comparison.refused.isEmpty
            && failed.isEmpty && waiting.allSatisfy(\.isSettled)
    }

    /// What `--apply` could have made, and was not made.
    private var missing: [String] {
        guard isApplied else { return [] }
        let failedNames = Set(failed.map(\.name))
        return comparison.changes.map(\.name).filter { !failedNames.contains($0) }
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        let out = Terminal.output
        guard !comparison.isEqual || !waiting.isEmpty || !changes.isEmpty else {
            return try out.line(
                "\(path): has the schema of the store"
                    + (isHeardWhole ? "" : ", as far as it could be read"))
        }
        let left = Set(failed.map(\.name) + missing)
        let done = changes.filter { !left.contains($0.name) }
        if !changes.isEmpty {
            try out.line(
                isApplied
                    ? "\(path): \(Plural.text(done.count, of: "change")) applied"
                    : "\(path): the schema of the store has")
        } else {
            try out.line("\(path): nothing to apply")
        }
        for change in isApplied ? done : changes {
            let sql = Printable.text(change.sql, width: Self.sqlWidth)
            let word = Self.words[change.kind] ?? change.kind.rawValue
            try out.line("  \(word) \(Printable.text(change.name))\(sql.isEmpty ? "" : ": " + sql)")
        }
        if !missing.isEmpty {
            let names = missing.map { Printable.text($0) }.joined(separator: ", ")
            try out.line("  still missing: \(names). Run it again")
        }
        for difference in comparison.differences { try out.line(difference.line) }
        for name in comparison.onlyHere { try out.line("  only here: \(Printable.text(name))") }
        if let version = comparison.userVersion {
            try out.line("  user_version of the store: \(version)")
        }
        try RefusedText(refused: comparison.refused + failed, path: path).print()
        try WaitingText(
            waiting: waiting, path: path, isApplied: isApplied || changes.isEmpty
        ).print()
        if !isApplied, !changes.isEmpty {
            let from = remote.map { " --from \(Shell.quoted($0))" } ?? ""
            try out.line("To apply it: synctool schema \(Shell.quoted(path))\(from) --apply")
        }
    }

    private static let words: [SchemaComparison.Change.Kind: String] = [
        .renameTable: "rename table", .renameColumn: "rename column",
        .newTable: "table", .newUntrackedTable: "untracked table", .track: "tracked table",
        .newColumn: "column", .newIndex: "index", .newVirtualTable: "virtual table",
        .newView: "view", .newTrigger: "trigger",
    ]

    /// The keys that docs/cli.md lists.
    var json: JSONObject {
        var object: JSONObject = [
            "applied": .bool(isApplied),
            "changes": .array(changes.map(\.json)),
            "missing": .array(missing.map { .string($0) }),
            "differences": .array(comparison.differences.map(\.json)),
            "onlyHere": .array(comparison.onlyHere.map { .string($0) }),
            "notMade": RefusedText(refused: comparison.refused + failed, path: path).json,
            "waiting": WaitingText(waiting: waiting, path: path).json,
        ]
        if let version = comparison.userVersion { object["userVersion"] = .integer(version) }
        return object
    }
}

extension SchemaComparison.Change {
    /// The keys that docs/cli.md lists.
    var json: JSONValue {
        .object(["kind": .string(kind.rawValue), "name": .string(name), "sql": .string(sql)])
    }
}

extension SchemaComparison.Difference {
    var line: String {
        let remedy = remedy.map { "; " + $0 } ?? ""
        return "  differs: \(Printable.text(name)): " + Printable.text(reason + remedy)
    }

    /// The keys that docs/cli.md lists.
    var json: JSONValue {
        var json: JSONObject = ["name": .string(name), "reason": .string(reason)]
        if let remedy { json["remedy"] = .string(remedy) }
        return .object(json)
    }
}
