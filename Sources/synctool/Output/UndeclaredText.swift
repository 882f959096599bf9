import SyncReplica

/// The line about columns that seem to be references (``SyncReplica/UndeclaredReference``).
struct UndeclaredText {
    /// The path of the database, as the user typed it.
    let path: String
    /// Whether the first remote is being added: what is not declared cannot be any more.
    let isLate: Bool

    /// Beyond that many columns they are counted.
    private static let namedMax = 5

    /// The line; nil where there is none, and of a file that only the daemon may read.
    var line: String? {
        let found = (try? Store.undeclaredReferences(StorePath.absolute(path))) ?? []
        guard let first = found.first else { return nil }
        let names = found.prefix(Self.namedMax).map {
            "\(Printable.text($0.table)).\(Printable.text($0.column)) of "
                + Printable.text($0.target)
        }
        let rest = found.count - names.count
        let database = Shell.quoted(path)
        let policy =
            "synctool policy \(database) \(Shell.quoted(first.table)) --reference "
            + Shell.quoted("\(first.column)=\(first.target)")
        return "  not declared: " + names.joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "")
            + ". If a column has numbers of another table's rows and no foreign key says so, other "
            + "replicas show other rows there, because each numbers its rows itself. "
            + (isLate
                ? "This is fixed with the first remote. To begin again: synctool untrack "
                    + "\(database); synctool track \(database); for each: \(policy); then add the "
                    + "remote"
                : "Before the first remote is added, run for each: \(policy)")
    }
}
