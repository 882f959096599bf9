import ArgumentParser
import SyncCore

/// `synctool purge DB`
struct Purge: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete old history that no consumer needs any more.",
        discussion: """
            Goes up to the lowest position that live consumers have acknowledged, or strictly \
            before --before TOKEN, which is refused when a consumer has not read that far.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Option(help: ArgumentHelp("Delete strictly before this position.", valueName: "token"))
    var before: String?

    @Flag(help: "Delete also what consumers still need; they have to start anew.")
    var force = false

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        let before = try before.map { try Token($0) }
        let access = try await Access.open(path, common)
        let result = try await access.purge(before: before, force: force)
        if common.json {
            try Terminal.output.json([
                "transactions": .integer(Int64(result.transactions)),
                "changes": .integer(Int64(result.changes)),
            ])
        } else {
            try Terminal.output.line(
                "\(path): deleted \(Plural.text(result.transactions, "transaction"))"
                    + " with \(Plural.text(result.changes, "change"))")
        }
    }
}
