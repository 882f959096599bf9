import ArgumentParser

/// `synctool pull DB [REMOTE]`
struct Pull: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge changes from remotes.",
        discussion: """
            A merge loses no value: concurrent values that the tables do not show are listed by \
            synctool conflicts DB.

            \(FileCommandHelp.note)
            """)

    @OptionGroup var arguments: ExchangeArguments
    var database: String? { arguments.path }

    mutating func run() async throws {
        try await ExchangeRun(
            path: arguments.path, direction: .pull, isJSON: arguments.output.isJSON
        ).run(remote: arguments.remote)
    }
}
