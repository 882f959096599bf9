import ArgumentParser
import SyncClient
import SyncReplica

/// `synctool config`
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the configuration that the daemon runs with, and where it was set.",
        discussion: """
            Each option with its value, and the file and line, flag or variable that set it; \
            'default' otherwise. Only root and the daemon's user may see it. What the options \
            mean: docs/configuration.md. To check files before a reload: syncd --check-config.
            """)

    @Flag(help: "Only what was set, without defaults.") var changed = false

    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"),
        completion: .file())
    var socket: String?

    mutating func run() async throws {
        let client = StoreClient(socket: socket)
        let all = try await client.configuration(within: StoreClient.answerMax)
        let overview = try await client.overview(within: StoreClient.answerMax)
        if let failure = overview.reloadFailure {
            try Terminal.error.line("synctool config: " + Printable.text(ReloadText.line(failure)))
        }
        for store in overview.stores {
            for trouble in store.troubles where trouble.work == .configuration {
                let line = "\(store.store.path): \(trouble.text). \(trouble.hint ?? "")"
                try Terminal.error.line("synctool config: " + Printable.text(line))
            }
        }
        let settings = changed ? all.filter { $0.source != nil } : all
        if output.isJSON {
            for setting in settings { try Terminal.output.json(setting.jsonObject) }
            return
        }
        var table = TextTable(styles: [.strong, .plain, .faint])
        for setting in settings {
            table.add(setting.name, setting.value, setting.source ?? "default")
        }
        for line in table.lines(on: .output) { try Terminal.output.line(line) }
        if settings.isEmpty { try Terminal.output.line("all options have their defaults") }
    }
}
