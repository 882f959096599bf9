import ArgumentParser
import SyncCore

/// The filters of `history` (docs/cli.md, history and watch).
struct HistoryFilter: ParsableArguments {
    @Option(help: ArgumentHelp("Only transactions after this position.", valueName: "token"))
    var after: String?

    @Option(help: ArgumentHelp("Only transactions up to this position.", valueName: "token"))
    var upTo: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only transactions at or after this time: 2026-01-31, 2026-01-31T12:00Z, 14:05, "
                + "yesterday, -2h, '2 days ago'. Local time without a zone.", valueName: "date"))
    var since: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only transactions before this time.", valueName: "date"))
    var until: String?

    @Option(
        help: ArgumentHelp("Only transactions of this author; may be repeated.", valueName: "name"))
    var author: [String] = []

    @Option(
        help: ArgumentHelp(
            "Omit transactions of this author; may be repeated. Unsigned transactions are shown.",
            valueName: "name"))
    var notAuthor: [String] = []

    @Option(help: ArgumentHelp("Only transactions of this context.", valueName: "name"))
    var context: String?

    @Option(help: ArgumentHelp("Only changes of this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only changes of this object, for example Album/348.", valueName: "object"))
    var object: String?

    @Option(
        help: ArgumentHelp("Only changes of this kind; may be repeated.", valueName: "kind"))
    var kind: [Change.Kind] = []

    @Option(
        help: ArgumentHelp(
            "Omit updates that do not change this column; may be repeated. "
                + "Inserts and deletes are shown.",
            valueName: "name"))
    var property: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show at most N transactions.", valueName: "n"))
    var limit: Int?

    @Flag(help: "Show the newest transaction first.")
    var reverse = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    /// Whether no filter was given.
    var isEmpty: Bool { (try? query()) == HistoryQuery() }

    /// - Throws: `invalidToken`, `invalidArgument` for a value that cannot be read.
    func query() throws -> HistoryQuery {
        var query = HistoryQuery()
        query.after = try after.map { try Token($0) }
        query.upTo = try upTo.map { try Token($0) }
        query.since = try since.map { try Timestamp(option: "--since", value: $0) }
        query.until = try until.map { try Timestamp(option: "--until", value: $0) }
        query.authors = author
        query.excludedAuthors = notAuthor
        query.context = context
        query.entities = entity
        query.object = try object.map { try ObjectName(path: $0) }
        query.kinds = Set(kind)
        query.properties = property
        query.limit = limit
        query.reverse = reverse
        return query
    }
}
