import SyncMerge
import SyncReplica

/// What an exchange skipped at a remote, and why.
struct SkippedText {
    private static let linesMax = 10

    let problems: [BatchCatalog.Problem]
    /// The names of replicas.
    var names = KnownNames()

    /// Of a new replica: the error that says what it lacks; nil: nothing, or what may not be read,
    /// which is an error of its own.
    func lack(at path: String) -> SyncError? {
        let count = problems.count { $0.unread == nil }
        guard count > 0 else { return nil }
        return SyncError(
            .badData,
            "what \(Plural.text(count, of: "skipped file")) of the remote held may be missing here",
            path: path,
            hint: "The new replica has everything else. A replica that has it sends it again; then "
                + "run: synctool sync \(Shell.quoted(path))")
    }

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
