import SyncMerge
import SyncReplica

/// What an exchange skipped at a remote, and why.
struct SkippedText {
    private static let linesMax = 10

    let problems: [BatchCatalog.Problem]
    /// The names of replicas.
    var names = KnownNames()

    /// - Throws: ``OutputClosed``.
    func print() throws {
        for problem in problems.prefix(Self.linesMax) {
            try Terminal.error.line(
                "  skipped \(Printable.text(problem.name)): "
                    + Printable.text(names.naming(problem.reason))
                    + (problem.remedy.map { ". " + Printable.text($0) } ?? ""))
        }
        let rest = problems.count - Self.linesMax
        if rest > 0 { try Terminal.error.line("  skipped \(Plural.text(rest, of: "other file"))") }
    }
}
