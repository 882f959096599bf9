import ArgumentParser
import Foundation
import SyncReplica

/// `synctool purge DB`
struct Purge: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete old history that no consumer needs any more.",
        discussion: """
            Goes up to the lowest position that live consumers have acknowledged, or strictly \
            before --before TOKEN, which is refused when a consumer has not read that far.

            In a store that is synchronised, what merging keeps of deleted objects and overwritten \
            transactions goes too, as far as all replicas have merged it. A replica that has not \
            been heard of for thirty days is not waited for: it comes back by a snapshot.
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
        let collected = try collect()
        if common.json {
            try Terminal.output.json([
                "transactions": .integer(Int64(result.transactions)),
                "changes": .integer(Int64(result.changes)),
                "collectedObjects": .integer(Int64(collected.objects)),
                "collectedTransactions": .integer(Int64(collected.transactions)),
            ])
        } else {
            try Terminal.output.line(
                "\(path): deleted \(Plural.text(result.transactions, "transaction"))"
                    + " with \(Plural.text(result.changes, "change"))")
            guard collected.objects + collected.transactions > 0 else { return }
            try Terminal.output.line(
                "\(path): collected \(Plural.text(collected.objects, "deleted object"))"
                    + " and \(Plural.text(collected.transactions, "overwritten transaction"))")
        }
    }

    /// Beside the daemon, like an exchange.
    private func collect() throws -> CollectionReport {
        // A store that only the daemon may write: it collects by itself.
        guard FileManager.default.isWritableFile(atPath: StorePath.absolute(path)) else {
            return CollectionReport()
        }
        let replica = try StoreReplica(StorePath.absolute(path))
        defer { try? replica.close() }
        return try replica.collect()
    }
}
