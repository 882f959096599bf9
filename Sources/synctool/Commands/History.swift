import ArgumentParser
import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// `synctool history DB`
struct History: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the committed transactions: author, time, objects and properties.",
        discussion: """
            The oldest transaction is shown first. Filters are combined with AND. Filters by \
            entity, object, kind and property select changes, and omit transactions without a \
            match.

            Flags in brackets: coalesced: several commits that could not be told apart; recovered: \
            found by comparing the tables with the records; remote: merged from another replica; \
            repair: additional changes that a merge required; authorUncertain: other writers may \
            have written a part of it, so filters treat the author as unknown; renumbered: rows of \
            this replica got new numbers, because earlier rows had theirs, or a reference to \
            nothing got one that no row has.

            --values shows new values, and old ones where they are kept (synctool track --undo); \
            '?' stands for one that is not known. It reads them from the file itself. For values \
            as JSON see synctool diff.

            On a terminal, times are relative and long output is shown with a pager; see --times \
            and --no-pager.
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var filter: HistoryFilter

    @Flag(name: .long, help: "Print only the number of transactions and changes.")
    var count = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Show only committed changes that are not in the history yet. They have no number and "
                + "no token."))
    var pending = false

    @Flag(
        name: [.customShort("p"), .long], help: "Show the old and the new values of changes.")
    var values = false

    @Flag(name: .long, help: "Show all changes of large transactions.")
    var all = false

    @OptionGroup var time: TimeOptions
    @OptionGroup var pager: PagerOptions

    var database: String? { path }

    func validate() throws {
        if pending && (count || !filter.isEmpty) {
            throw ValidationError("--pending cannot be combined with --count or filters.")
        }
        if values && (pending || count || output.isJSON) {
            throw ValidationError("--values cannot be combined with --pending, --count or --json.")
        }
        if values && access.socket != nil {
            throw ValidationError("--values reads the file itself. Omit --socket.")
        }
    }

    mutating func run() async throws {
        let query = try filter.query()
        let store: any StoreAccess =
            values
            ? FileAccess(path: path, reason: .requested)
            : try await Access.open(path, using: access)
        if pending { return try await showPending(of: store) }
        if count {
            let found = try await store.count(query)
            if output.isJSON {
                try Terminal.output.json([
                    "transactions": .integer(Int64(found.transactions)),
                    "changes": .integer(Int64(found.changes)),
                    "pending": .integer(found.pending),
                ])
            } else {
                try Terminal.output.line(
                    "\(Plural.text(found.transactions, of: "transaction")), "
                        + Plural.text(found.changes, of: "change"))
            }
            return
        }
        // Read from the file; where this user may not, replicas are shown by their identifiers.
        let names = (try? Store.replicaNames(StorePath.absolute(path))) ?? KnownNames()
        var text = PartText(
            TransactionText(
                changesMax: all ? .max : TransactionText.changesShown, names: names,
                times: time.style))
        let isJSON = output.isJSON
        let past = try values ? Store.open(StorePath.absolute(path)) : nil
        defer { try? past?.close() }
        try pager.start(asJSON: isJSON)
        var shown = 0
        try await store.forEachTransaction(matching: query) { transaction in
            shown += 1
            if isJSON {
                try Terminal.output.json(Self.json(transaction, names: names))
            } else {
                let new = try past.map {
                    try $0.newValues(
                        of: transaction.changes.prefix(text.shownCount(of: transaction)),
                        asOf: transaction.token)
                }
                for line in text.lines(transaction, new: new) {
                    try Terminal.output.line(line)
                }
            }
        }
        if shown == 0, !output.isJSON {
            try Terminal.error.line(
                filter.isEmpty
                    ? "\(path): no transactions yet" : "\(path): no transaction matches the filters"
            )
        }
    }

    /// A transaction, with the name of its origin where it has one.
    private static func json(_ transaction: Transaction, names: KnownNames) -> [UInt8] {
        let json = transaction.json
        guard let name = transaction.origin.flatMap({ names[$0.replica] }), json.last == 0x7d
        else { return json }
        var member = JSONWriter()
        member.write(string: name)
        return json.dropLast() + Array(",\"originName\":".utf8) + member.bytes + [0x7d]
    }

    private func showPending(of store: any StoreAccess) async throws {
        let text = TransactionText(
            changesMax: all ? .max : TransactionText.changesShown, times: time.style)
        let found = try await store.pending()
        try pager.start(asJSON: output.isJSON)
        for pending in found {
            if output.isJSON {
                try Terminal.output.json(pending.json)
            } else {
                for line in text.lines(pending) { try Terminal.output.line(line) }
            }
        }
        if found.isEmpty, !output.isJSON {
            try Terminal.error.line("\(path): no pending changes")
        }
    }
}
