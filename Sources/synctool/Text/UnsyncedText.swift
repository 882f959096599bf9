import SyncReplica

/// Rows that synchronising leaves out, as lines of text.
struct UnsyncedText {
    let rows: [UnsyncedRows]

    var lines: [String] {
        rows.map { rows in
            let table = Printable.text(rows.table)
            let count = Plural.text(rows.count, of: "row")
            switch rows.reason {
            case .nullKey:
                return "  not synchronised: \(count) of \(table) with NULL in the primary key; "
                    + "give them a key"
            case .unmerged(let reason):
                return "  not synchronised: \(table) (\(count)): \(Printable.text(reason)); "
                    + "to synchronise it, change its foreign keys"
            case .dangling(let parent):
                let verb = rows.count == 1 ? "refers" : "refer"
                return "  \(count) of \(table), which is not synchronised, \(verb) to rows of "
                    + "\(Printable.text(parent)) that are not there"
            }
        }
    }

    /// - Throws: ``OutputClosed``.
    func print() throws {
        for line in lines { try Terminal.error.line(line) }
    }
}
