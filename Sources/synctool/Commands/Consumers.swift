import ArgumentParser
import SyncClient
import SyncCore

/// `synctool consumers DB`
struct Consumers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show and keep the registered readers of a store's history.",
        discussion: """
            Purging keeps what a reader has not acknowledged, until its lease runs out. \
            `synctool consumers DB` lists them.
            """,
        subcommands: [List.self, Add.self, Ack.self, Remove.self],
        defaultSubcommand: List.self)
}

extension Consumers {
    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Show the consumers of a store.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let consumers = try await Access.open(path, common).consumers()
            if common.json {
                for consumer in consumers { try Terminal.output.json(consumer.jsonObject) }
                return
            }
            if consumers.isEmpty { try Terminal.output.line("no consumers") }
            for line in ConsumerText.lines(consumers) { try Terminal.output.line(line) }
        }
    }

    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a consumer, or renew its kind and lease.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The consumer's name.") var name: String
        @Option(help: "reader and peer hold history back; writer does not.")
        var kind: Consumer.Kind = .reader
        @Option(
            help: ArgumentHelp(
                "How long it may stay silent before purging passes it: 90s, 30m, 12h, 7d.",
                valueName: "time"))
        var lease: Lease?
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let access = try await Access.open(path, common)
            try await access.register(consumer: name, kind: kind, lease: lease?.duration)
        }
    }

    struct Ack: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say that a consumer is done with all up to a token.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The consumer's name.") var name: String
        @Argument(help: "The token of the last transaction it is done with.") var token: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let token = try Token(token)
            let access = try await Access.open(path, common)
            try await access.acknowledge(consumer: name, token)
        }
    }

    struct Remove: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Forget a consumer.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The consumer's name.") var name: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            try await Access.open(path, common).remove(consumer: name)
        }
    }
}

extension Consumer.Kind: ExpressibleByArgument {}

/// A time that a person writes: a number with s, m, h or d.
struct Lease: ExpressibleByArgument {
    let duration: Duration

    init(duration: Duration) { self.duration = duration }

    init?(argument: String) {
        let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last, let factor = seconds[unit],
            let count = Int64(argument.dropLast()), count > 0, count < 1_000_000
        else { return nil }
        duration = .seconds(count * factor)
    }
}
