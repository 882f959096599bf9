import ArgumentParser
import SyncClient
import SyncCore

/// `synctool history DB`
struct History: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the committed transactions: author, time, objects and properties.",
        discussion: """
            The oldest transaction is shown first. Filters are combined with AND. Filters by \
            entity, object, kind and property select changes, and omit transactions without one.

            Flags in brackets: coalesced: several commits that could not be told apart; recovered: \
            found by comparing the tables with the records; remote: merged from another replica; \
            repair: additional changes that a merge required.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var filter: HistoryFilter

    @Flag(name: .long, help: "Print only the number of transactions and changes.")
    var count = false

    @Flag(name: .long, help: "Show all changes of large transactions.")
    var all = false

    var database: String? { path }

    mutating func run() async throws {
        let query = try filter.query()
        let store = try await Access.open(path, using: access)
        if count {
            let found = try await store.count(query)
            if output.isJSON {
                try Terminal.output.json([
                    "transactions": .integer(Int64(found.transactions)),
                    "changes": .integer(Int64(found.changes)),
                ])
            } else {
                try Terminal.output.line(
                    "\(Plural.text(found.transactions, of: "transaction")), "
                        + Plural.text(found.changes, of: "change"))
            }
            return
        }
        let text = TransactionText(changesMax: all ? .max : TransactionText.changesShown)
        let isJSON = output.isJSON
        var shown = 0
        try await store.forEachTransaction(matching: query) { transaction in
            shown += 1
            if isJSON {
                try Terminal.output.json(transaction.json)
            } else {
                for line in text.lines(transaction) { try Terminal.output.line(line) }
            }
        }
        if shown == 0, !output.isJSON {
            try Terminal.error.line(
                filter.isEmpty
                    ? "\(path): no transactions yet" : "\(path): no transaction matches the filters"
            )
        }
    }
}
