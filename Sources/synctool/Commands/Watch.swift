import ArgumentParser
import SyncClient
import SyncCore
import Synchronization

/// `synctool watch [DB]`
struct Watch: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show transactions as they are committed, by whatever process.",
        discussion: """
            Runs until it is interrupted. With --after TOKEN it begins with what was missed since. \
            --json prints the same lines as history, and {"gone":…}, {"changed":…}, {"lagged":…} \
            and the other notices.
            """)

    @Argument(
        help: ArgumentHelp("The database file; all of the daemon's without.", valueName: "db"))
    var path: String?

    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("Begin after this position.", valueName: "token"))
    var after: String?

    @Option(help: ArgumentHelp("Only of this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(
        help: ArgumentHelp("Only insert, update or delete; may be repeated.", valueName: "kind"))
    var kind: [Change.Kind] = []

    @Option(help: ArgumentHelp("Only updates of this column; may be repeated.", valueName: "name"))
    var property: [String] = []

    @Option(help: ArgumentHelp("Only by this author; may be repeated.", valueName: "name"))
    var author: [String] = []

    @Option(help: ArgumentHelp("Not by this author; may be repeated.", valueName: "name"))
    var notAuthor: [String] = []

    @Option(
        help: ArgumentHelp(
            "Hold this object, as in Album/348: say when it changes or is gone; may be repeated.",
            valueName: "object"))
    var hold: [String] = []

    @Option(help: ArgumentHelp("End after so many transactions.", valueName: "n"))
    var limit: Int?

    var database: String? { path }

    func validate() throws {
        if path == nil && (common.direct || after != nil || !hold.isEmpty) {
            throw ValidationError("--direct, --after and --hold need a database file.")
        }
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
    }

    mutating func run() async throws {
        let choice = try choice()
        let left = Countdown(limit)
        guard let path else {
            return try await watchAll(choice, left)
        }
        let access = try await Access.open(path, common)
        try await watch(access, choice, left, named: nil)
    }

    private func choice() throws -> WatchChoice {
        var filter = HistoryQuery()
        filter.entities = entity
        filter.kinds = Set(kind)
        filter.properties = property
        filter.authors = author
        filter.excludedAuthors = notAuthor
        let held = try hold.map { try HistoryQuery.ObjectName(held: $0) }
        return WatchChoice(after: try after.map { try Token($0) }, filter: filter, held: held)
    }

    /// All open stores of the daemon at once; the first error or the last transaction ends them
    /// all.
    private func watchAll(_ choice: WatchChoice, _ left: Countdown) async throws {
        let daemon = try await Access.daemon(common)
        let paths = try await daemon.stores().map(\.path)
        guard !paths.isEmpty else {
            throw SyncError(
                .unknownStore, "the daemon has no stores", hint: "Run: synctool track FILE")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in paths {
                let access = daemon.store(path)
                let watch = self
                group.addTask { try await watch.watch(access, choice, left, named: path) }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// - Parameter name: set when several stores are watched: each line says which one.
    private func watch(
        _ access: any StoreAccess, _ choice: WatchChoice, _ left: Countdown, named name: String?
    ) async throws {
        let isJSON = common.json
        let shown = name ?? path ?? ""
        try await access.watch(choice) { notice in
            if case .began(let token) = notice, !isJSON {
                try Terminal.error.line("watching \(shown) from #\(token.number)")
            } else if isJSON {
                try Terminal.output.json(NoticeLine.json(notice, store: name))
            } else {
                let prefix = name.map { Terminal.output.styled($0, .faint) + "  " } ?? ""
                for line in NoticeText().lines(notice) {
                    try Terminal.output.line(prefix + line)
                }
            }
            if case .transaction = notice { return left.goOn() }
            return true
        }
    }
}

/// Counts transactions down, over all stores.
private final class Countdown: Sendable {
    private let left: Mutex<Int?>

    init(_ limit: Int?) { left = Mutex(limit) }

    /// Whether more are wanted after this one.
    func goOn() -> Bool {
        left.withLock { left in
            guard let count = left else { return true }
            left = count - 1
            return count > 1
        }
    }
}
