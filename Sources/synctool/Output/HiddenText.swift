import SyncReplica

/// Rows that are not shown, as a line of text.
enum HiddenText {
    static func line(_ count: Int) -> String {
        let (verb, object) = count == 1 ? ("is", "it") : ("are", "them")
        return "\(Plural.text(count, of: "row")) \(verb) not shown: a constraint keeps "
            + "\(object) out of the tables. To decide: synctool conflicts DB"
    }

    /// - Throws: ``OutputClosed``.
    static func print(_ count: Int, path: String) throws {
        guard count > 0 else { return }
        try Terminal.error.line("  " + TypedPath(path).fillingIn(line(count)))
    }
}
