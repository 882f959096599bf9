import ArgumentParser
import SyncClient

/// `synctool demo [DB]`
struct Demo: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "A tour of ten seconds, with real processes, on a copy.",
        discussion: """
            Starts a private syncd in a temporary folder, takes a copy of the database (or a small \
            one of its own), and shows what happens when other processes change and delete what \
            one holds, also while syncd is killed. The original is only read.
            """)

    @Argument(help: ArgumentHelp("The database to copy.", valueName: "db"))
    var path: String?

    var database: String? { path }

    mutating func run() async throws {
        let original = path.map(StorePath.absolute)
        try await Tour(original: original).run()
    }
}
