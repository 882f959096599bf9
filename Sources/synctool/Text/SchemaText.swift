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

    /// Whether the database has all that the schema of the store has, and nothing waits for it.
    var isComplete: Bool {
        comparison.changes.isEmpty && comparison.differences.isEmpty && comparison.refused.isEmpty
            && failed.isEmpty && waiting.allSatisfy(\.isSettled)
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        let out = Terminal.output
        guard !comparison.isEqual || !waiting.isEmpty || !changes.isEmpty else {
            return try out.line("\(path): has the schema of the store")
        }
        let failedNames = Set(failed.map(\.name))
        let done = changes.filter { !failedNames.contains($0.name) }
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
        for difference in comparison.differences {
            let remedy = difference.remedy.map { "; " + $0 } ?? ""
            try out.line(
                "  differs: \(Printable.text(difference.name)): "
                    + Printable.text(difference.reason + remedy))
        }
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
            "changes": .array(
                changes.map {
                    .object([
                        "kind": .string($0.kind.rawValue), "name": .string($0.name),
                        "sql": .string($0.sql),
                    ])
                }),
            "differences": .array(
                comparison.differences.map { difference in
                    var json: JSONObject = [
                        "name": .string(difference.name), "reason": .string(difference.reason),
                    ]
                    if let remedy = difference.remedy { json["remedy"] = .string(remedy) }
                    return .object(json)
                }),
            "onlyHere": .array(comparison.onlyHere.map { .string($0) }),
            "notMade": RefusedText(refused: comparison.refused + failed, path: path).json,
            "waiting": WaitingText(waiting: waiting, path: path).json,
        ]
        if let version = comparison.userVersion { object["userVersion"] = .integer(version) }
        return object
    }
}
