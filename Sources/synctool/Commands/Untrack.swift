import ArgumentParser

/// `synctool untrack DB`
struct Untrack: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove every trace of capture and history from a database.",
        discussion: """
            The history goes, and with it what readers have not read; the database's own tables \
            are as they were.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Flag(
        help: "Only make the daemon forget the store; the file stays as it is, or may be gone.")
    var forget = false

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    func validate() throws {
        if forget && common.direct {
            throw ValidationError("--forget is about the daemon: leave --direct out.")
        }
    }

    mutating func run() async throws {
        var left: [String] = []
        if forget {
            try await Access.daemon(common).forget(path)
        } else {
            left = try await Access.open(path, common).untrack()
        }
        for object in left {
            try Terminal.error.line("\(path): left \(object), which syncd did not make")
        }
        guard !common.json else { return }
        try Terminal.output.line(
            forget
                ? "\(path): forgotten by the daemon; the file is as it was"
                : "\(path): no longer tracked, its history is gone")
    }
}
