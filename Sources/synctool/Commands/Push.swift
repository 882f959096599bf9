import ArgumentParser

/// `synctool push DB [REMOTE]`
struct Push: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send changes to remotes.",
        discussion: """
            Sends what the remote lacks. An interrupted push can be repeated: it continues with \
            the rest. A push also restores batches that the remote has lost.

            \(FileCommandHelp.note)
            """)

    @OptionGroup var arguments: ExchangeArguments
    @OptionGroup var waiting: WaitArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(
            path: arguments.path, direction: .push, waitMax: waiting.waitMax,
            isJSON: arguments.output.isJSON
        ).run(remote: arguments.remote)
    }
}
