import SyncReplica
import Varlink

/// What a new replica lacks of the store's schema because it began with the tables of a snapshot,
/// as it does after renames. What was refused is not among it (``RefusedText``).
struct BegunSchemaText {
    private static let linesMax = 10

    let comparison: SchemaComparison?
    /// The path of the database, as the user typed it.
    let path: String

    /// The comparison, when something can be applied or has to be decided.
    private var lack: SchemaComparison? {
        guard let comparison, !comparison.changes.isEmpty || !comparison.differences.isEmpty else {
            return nil
        }
        return comparison
    }

    /// Prints what is lacking on stderr, and what to do.
    /// - Throws: ``OutputClosed``.
    func print() throws {
        guard let lack else { return }
        let error = Terminal.error
        try error.line("  the tables are not yet those that the store has now:")
        if !lack.changes.isEmpty {
            try error.line(
                "  \(Plural.text(lack.changes.count, of: "change")) can be applied: "
                    + "synctool schema \(Shell.quoted(path)) --apply")
        }
        for difference in lack.differences.prefix(Self.linesMax) {
            try error.line(difference.line)
        }
        if lack.differences.count > Self.linesMax {
            try error.line(
                "  … and \(lack.differences.count - Self.linesMax) more: "
                    + "synctool schema \(Shell.quoted(path))")
        }
    }

    /// The keys that docs/cli.md lists; nil: nothing is lacking.
    var json: JSONValue? {
        lack.map {
            .object([
                "changes": .array($0.changes.map(\.json)),
                "differences": .array($0.differences.map(\.json)),
            ])
        }
    }
}
