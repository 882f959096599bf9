import ArgumentParser

/// `synctool sync DB [REMOTE]`
struct Sync: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pull from remotes, then push to them.", discussion: FileCommandHelp.note)

    @OptionGroup var arguments: ExchangeArguments
    @OptionGroup var waiting: WaitArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(
            path: arguments.path, direction: .sync, waitMax: waiting.waitMax,
            isJSON: arguments.output.isJSON
        ).run(remote: arguments.remote)
    }
}
