import ArgumentParser
import SyncClient
import SyncCore

/// `synctool consumers DB`
struct Consumers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and manage the consumers of a store's history.",
        discussion: """
            A consumer is a registered reader. Purging keeps what it has not acknowledged, until \
            its lease expires. synctool consumers DB lists the consumers.
            """,
        subcommands: [List.self, Add.self, Ack.self, Remove.self],
        defaultSubcommand: List.self)
}

extension Consumers {
    /// Confirms what was done, except in JSON.
    fileprivate static func report(_ text: String, unless isJSON: Bool) throws {
        if !isJSON { try Terminal.output.line(Printable.text(text)) }
    }

    /// `synctool consumers DB`
    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "List the consumers of a store.")

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @OptionGroup var output: OutputOptions
        @OptionGroup var access: AccessOptions
        var database: String? { path }

        mutating func run() async throws {
            let consumers = try await Access.open(path, using: access).consumers()
            if output.isJSON {
                for consumer in consumers { try Terminal.output.json(consumer.jsonObject) }
                return
            }
            if consumers.isEmpty { try Terminal.output.line("no consumers") }
            for line in ConsumerText.lines(consumers) { try Terminal.output.line(line) }
        }
    }

    /// `synctool consumers add DB NAME`
    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a consumer, or change its kind and lease.")

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The consumer's name.") var name: String
        @Option(help: "Purging waits for readers and peers, not for writers.")
        var kind: Consumer.Kind = .reader
        @Option(
            help: ArgumentHelp(
                "How long purging waits for it after it was last seen: 90s, 30m, 12h, 7d "
                    + "(default: without limit).",
                valueName: "time"))
        var lease: Lease?
        @OptionGroup var output: OutputOptions
        @OptionGroup var access: AccessOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try await Access.open(path, using: access)
            try await store.register(consumer: name, kind: kind, lease: lease?.duration)
            try Consumers.report("\(path): consumer \(name) registered", unless: output.isJSON)
        }
    }

    /// `synctool consumers ack DB NAME TOKEN`
    struct Ack: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Acknowledge all transactions up to a token for a consumer.")

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The consumer's name.") var name: String
        @Argument(help: "The token of the last transaction that it has processed.") var token:
            String
        @OptionGroup var output: OutputOptions
        @OptionGroup var access: AccessOptions
        var database: String? { path }

        mutating func run() async throws {
            let token = try Token(token)
            let store = try await Access.open(path, using: access)
            let known = try await store.consumers().first { $0.name == name }?.acknowledged ?? 0
            try await store.acknowledge(consumer: name, token)
            // An older token is only a sign of life.
            let said =
                known > token.number
                ? "has acknowledged #\(known) already" : "acknowledged #\(token.number)"
            try Consumers.report("\(path): consumer \(name) \(said)", unless: output.isJSON)
        }
    }

    /// `synctool consumers remove DB NAME`
    struct Remove: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a consumer: purging no longer waits for it.")

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The consumer's name.") var name: String
        @OptionGroup var output: OutputOptions
        @OptionGroup var access: AccessOptions
        var database: String? { path }

        mutating func run() async throws {
            try await Access.open(path, using: access).remove(consumer: name)
            try Consumers.report("\(path): consumer \(name) removed", unless: output.isJSON)
        }
    }
}

extension Consumer.Kind: ExpressibleByArgument {}
