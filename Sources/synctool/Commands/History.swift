import ArgumentParser
import SyncClient
import SyncCore

/// `synctool history DB`
struct History: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what was committed: by whom, when, which objects and properties.",
        discussion: """
            Oldest first. What every given filter lets pass is shown; filters by entity, object, \
            kind and property choose changes, and leave out transactions without any.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @OptionGroup var common: CommonOptions
    @OptionGroup var filter: HistoryFilter

    @Flag(name: .long, help: "Count transactions and changes instead of showing them.")
    var count = false

    @Flag(name: .long, help: "Show every change of large transactions.")
    var all = false

    var database: String? { path }

    mutating func run() async throws {
        let query = try filter.query()
        let access = try await Access.open(path, common)
        if count {
            let found = try await access.count(query)
            if common.json {
                try Terminal.output.json([
                    "transactions": .integer(Int64(found.transactions)),
                    "changes": .integer(Int64(found.changes)),
                ])
            } else {
                try Terminal.output.line(
                    "\(Plural.text(found.transactions, "transaction")), "
                        + Plural.text(found.changes, "change"))
            }
            return
        }
        let text = TransactionText(changesMax: all ? .max : TransactionText.changesShown)
        let isJSON = common.json
        var shown = 0
        try await access.forEachTransaction(query) { transaction in
            shown += 1
            if isJSON {
                try Terminal.output.json(transaction.json)
            } else {
                for line in text.lines(transaction) { try Terminal.output.line(line) }
            }
        }
        if shown == 0, !common.json {
            try Terminal.error.line("no transaction in \(path) matches")
        }
    }
}

/// The filters of `history`, as DESIGN §11 names them.
struct HistoryFilter: ParsableArguments {
    @Option(help: ArgumentHelp("Only after this position.", valueName: "token"))
    var after: String?

    @Option(help: ArgumentHelp("Only up to this position.", valueName: "token"))
    var upTo: String?

    @Option(help: ArgumentHelp("Only from this moment on; UTC unless it says.", valueName: "date"))
    var since: String?

    @Option(help: ArgumentHelp("Only before this moment.", valueName: "date"))
    var until: String?

    @Option(help: ArgumentHelp("Only by this author; may be repeated.", valueName: "name"))
    var author: [String] = []

    @Option(
        help: ArgumentHelp(
            "Not by this author; may be repeated. Unsigned transactions stay.", valueName: "name"))
    var notAuthor: [String] = []

    @Option(help: ArgumentHelp("Only of this context.", valueName: "name"))
    var context: String?

    @Option(help: ArgumentHelp("Only of this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(help: ArgumentHelp("Only of this object, as in Album/348.", valueName: "object"))
    var object: String?

    @Option(
        help: ArgumentHelp("Only insert, update or delete; may be repeated.", valueName: "kind"))
    var kind: [Change.Kind] = []

    @Option(
        help: ArgumentHelp("Only updates of this column; may be repeated.", valueName: "name"))
    var property: [String] = []

    @Option(help: ArgumentHelp("At most so many transactions.", valueName: "n"))
    var limit: Int?

    @Flag(help: "Newest first.")
    var reverse = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
    }

    func query() throws -> HistoryQuery {
        var query = HistoryQuery()
        query.after = try after.map { try Token($0) }
        query.upTo = try upTo.map { try Token($0) }
        query.since = try since.map(Timestamp.argument)
        query.until = try until.map(Timestamp.argument)
        query.authors = author
        query.excludedAuthors = notAuthor
        query.context = context
        query.entities = entity
        query.object = try object.map { try HistoryQuery.ObjectName(path: $0) }
        query.kinds = Set(kind)
        query.properties = property
        query.limit = limit
        query.reverse = reverse
        return query
    }
}

extension Change.Kind: ExpressibleByArgument {
    /// Reads `insert`, `update` or `delete`.
    public init?(argument: String) { self.init(name: argument) }

    /// The words for help and completion.
    public static var allValueStrings: [String] { allCases.map(\.name) }
    /// The word for help.
    public var defaultValueDescription: String { name }
}
