import ArgumentParser
import SyncClient
import SyncCore
import Synchronization

/// `synctool watch [DB]`
struct Watch: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show transactions as they are committed by any process.",
        discussion: """
            Runs until it is interrupted. With --after TOKEN it starts with the transactions after \
            this position. --json prints the same lines as history, and {"gone":…}, \
            {"changed":…}, {"lagged":…} and the other notices (docs/cli.md). Filters are combined \
            with AND.
            """)

    @Argument(
        help: ArgumentHelp(
            "The database file (default: all stores of the daemon).", valueName: "db"),
        completion: .file())
    var path: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions

    @Option(help: ArgumentHelp("Start after this position.", valueName: "token"))
    var after: String?

    @Option(help: ArgumentHelp("Only changes of this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(
        help: ArgumentHelp("Only changes of this kind; may be repeated.", valueName: "kind"))
    var kind: [Change.Kind] = []

    @Option(
        help: ArgumentHelp(
            "Omit updates that do not change this column; may be repeated.", valueName: "name"))
    var property: [String] = []

    @Option(
        help: ArgumentHelp("Only transactions of this author; may be repeated.", valueName: "name"))
    var author: [String] = []

    @Option(
        help: ArgumentHelp("Omit transactions of this author; may be repeated.", valueName: "name"))
    var notAuthor: [String] = []

    @Option(
        help: ArgumentHelp(
            "Notify when this object, for example Album/348, is changed, gone or replaced; may be "
                + "repeated. Needs the daemon.",
            valueName: "object"))
    var hold: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Exit after N transactions.", valueName: "n"))
    var limit: Int?

    var database: String? { path }

    func validate() throws {
        if path == nil && (access.isDirect || after != nil || !hold.isEmpty) {
            throw ValidationError("--direct, --after and --hold need a database file.")
        }
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    mutating func run() async throws {
        let choice = try choice()
        let left = Countdown(limit)
        guard let path else {
            return try await watchAll(choice, limit: left)
        }
        let store = try await Access.open(path, using: access)
        try await watch(store, for: choice, limit: left, named: nil)
    }

    private func choice() throws -> WatchChoice {
        var filter = HistoryQuery()
        filter.entities = entity
        filter.kinds = Set(kind)
        filter.properties = property
        filter.authors = author
        filter.excludedAuthors = notAuthor
        let held = try hold.map { try ObjectName(held: $0) }
        return WatchChoice(after: try after.map { try Token($0) }, filter: filter, held: held)
    }

    /// Watches all stores of the daemon until the last wanted transaction. A store that cannot be
    /// watched any more is named, and the others go on; when none is left, its status is the
    /// command's.
    private func watchAll(_ choice: WatchChoice, limit left: Countdown) async throws {
        let daemon = try await Access.daemon(using: access)
        let paths = try await daemon.all().map(\.path)
        guard !paths.isEmpty else {
            throw SyncError(
                .unknownStore, "the daemon has no stores", hint: "Add one: synctool track FILE")
        }
        let status = try await withThrowingTaskGroup(of: Int32?.self) { group in
            defer { group.cancelAll() }
            for path in paths {
                let store = daemon.store(path)
                let watch = self
                group.addTask {
                    do {
                        try await watch.watch(store, for: choice, limit: left, named: path)
                    } catch let error as SyncError where !Task.isCancelled {
                        return watch.failure(of: path).report(error)
                    }
                    return nil
                }
            }
            var last: Int32 = 0
            while let ended = try await group.next() {
                guard let status = ended else { return Int32(0) }
                last = status
            }
            return last
        }
        if status != 0 { throw ExitCode(status) }
    }

    private func failure(of path: String) -> Failure {
        Failure(command: "watch", typed: path, isJSON: output.isJSON)
    }

    /// - Parameter name: the store's name at the start of each line; nil when only one is watched.
    private func watch(
        _ store: any StoreAccess, for choice: WatchChoice, limit left: Countdown,
        named name: String?
    ) async throws {
        let isJSON = output.isJSON
        let shown = Printable.text(name ?? path ?? "")
        let text = Mutex(PartText(TransactionText()))
        try await store.watch(choice) { notice in
            if case .began(let token) = notice, !isJSON {
                try Terminal.error.line("watching \(shown) from #\(token.number)")
            } else if isJSON {
                try Terminal.output.json(NoticeLine.json(notice, store: name))
            } else {
                let prefix = name == nil ? "" : Terminal.output.styled(shown, as: .faint) + "  "
                let lines: [String]
                if case .transaction(let transaction) = notice {
                    lines = text.withLock { $0.lines(transaction) }
                } else {
                    lines = NoticeText().lines(notice)
                }
                for line in lines { try Terminal.output.line(prefix + line) }
            }
            if case .transaction(let transaction) = notice, transaction.isComplete {
                return left.count()
            }
            return true
        }
    }
}

/// Counts transactions down to the limit, over all stores.
private final class Countdown: Sendable {
    private let left: Mutex<Int?>

    init(_ limit: Int?) { left = Mutex(limit) }

    /// Counts one transaction.
    /// - Returns: whether more are wanted.
    func count() -> Bool {
        left.withLock { left in
            guard let count = left else { return true }
            left = count - 1
            return count > 1
        }
    }
}
