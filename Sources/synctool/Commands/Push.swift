import ArgumentParser

/// What `push`, `pull` and `sync` take.
struct ExchangeArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Argument(help: "The remote's name; all of them without.")
    var remote: String?

    @OptionGroup var common: CommonOptions
}

/// What `push` and `sync` take beside.
struct WaitArguments: ParsableArguments {
    @Flag(help: "Wait until every other replica that uses the remote has merged it.")
    var wait = false

    @Option(help: ArgumentHelp("How long to wait: 90s, 30m, 12h, 7d.", valueName: "time"))
    var timeout = Lease(duration: .seconds(60))

    var patience: Duration? { wait ? timeout.duration : nil }
}

/// `synctool push DB [REMOTE]`
struct Push: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a remote what it lacks.",
        discussion: """
            May be interrupted and repeated: what was sent stays, the rest follows. A remote that \
            lost something is healed by it.
            """)

    @OptionGroup var arguments: ExchangeArguments
    @OptionGroup var waiting: WaitArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(
            path: arguments.path, direction: .push, patience: waiting.patience,
            common: arguments.common
        ).run(remote: arguments.remote)
    }
}

/// `synctool pull DB [REMOTE]`
struct Pull: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge what a remote has.",
        discussion: """
            Nothing that was written here or there is lost: what the tables do not show after a \
            merge is in the conflict log. See: synctool conflicts DB
            """)

    @OptionGroup var arguments: ExchangeArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(path: arguments.path, direction: .pull, common: arguments.common)
            .run(remote: arguments.remote)
    }
}

/// `synctool sync DB [REMOTE]`
struct Sync: StoreCommand {
    static let configuration = CommandConfiguration(abstract: "Pull, then push.")

    @OptionGroup var arguments: ExchangeArguments
    @OptionGroup var waiting: WaitArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(
            path: arguments.path, direction: .sync, patience: waiting.patience,
            common: arguments.common
        ).run(remote: arguments.remote)
    }
}
