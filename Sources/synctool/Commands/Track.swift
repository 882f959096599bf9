import ArgumentParser
import SyncClient
import SyncCore

/// `synctool track DB`
struct Track: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record the history of a database from now on.",
        discussion: """
            Adds a log and triggers to the database; its own tables stay as they are, and writers \
            need nothing. Says for each table what it did, or why not. `synctool untrack DB` \
            takes everything away again.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Option(help: ArgumentHelp("Only this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(
        help: ArgumentHelp(
            "Keep the old values of updates of this table; '*' for all; may be repeated.",
            valueName: "name"))
    var undo: [String] = []

    @Flag(help: "Do not keep the values of deleted rows.")
    var noTombstones = false

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        let access = try await Access.open(path, common, for: .tracking)
        let choice = CaptureChoice(entities: entity, undo: undo, keepsValues: !noTombstones)
        // SQLite's own tables are not anybody's news.
        let outcome = try await access.track(choice)
        let tables = outcome.tables.filter { !$0.name.hasPrefix("sqlite_") }
        for line in outcome.repaired {
            let line = TypedPath(path).fillingIn(line)
            try Terminal.error.line("\(path): repaired: \(line)")
        }
        if common.json {
            for table in tables { try Terminal.output.json(table.jsonObject) }
            return
        }
        for line in TableText.lines(tables) { try Terminal.output.line(line) }
        let count = tables.count { $0.isTracked }
        try Terminal.output.line(
            "\(path): \(Plural.text(count, "table")) tracked."
                + " See what happens: synctool watch \(Shell.quoted(path))")
    }
}
