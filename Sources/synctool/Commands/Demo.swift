import ArgumentParser
import SyncClient

/// `synctool demo [DB]`
struct Demo: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a ten-second tour on a copy of a database.",
        discussion: """
            Starts a private syncd in a temporary folder, copies the database (default: creates a \
            small one), and shows the notices that a client gets when other processes change and \
            delete the objects that it holds, also after syncd was killed. The original is only \
            read.
            """)

    @Argument(
        help: ArgumentHelp("The database to copy (default: a small sample).", valueName: "db"),
        completion: .file())
    var path: String?

    var database: String? { path }

    mutating func run() async throws {
        let original = path.map(StorePath.absolute)
        try await Tour(original: original).run()
    }
}
