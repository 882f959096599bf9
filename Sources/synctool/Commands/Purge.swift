import ArgumentParser
import Foundation
import SyncReplica

/// `synctool purge DB`
struct Purge: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete old history.",
        discussion: """
            Deletes the history up to the lowest position that a live consumer has acknowledged, \
            or strictly before --before TOKEN. A token beyond that position is refused without \
            --force.

            In a synchronised store this also deletes the merge records of deleted objects and \
            overwritten transactions that all replicas have merged. A replica that was not seen \
            for thirty days is not waited for: it returns by a snapshot.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Option(
        help: ArgumentHelp("Delete only transactions before this position.", valueName: "token"))
    var before: String?

    @Flag(help: "Delete also what consumers still need; they must start over.")
    var force = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    mutating func run() async throws {
        let before = try before.map { try Token($0) }
        let store = try await Access.open(path, using: access)
        let result = try await store.purge(before: before, force: force)
        let collected = try collect()
        if output.isJSON {
            try Terminal.output.json([
                "transactions": .integer(Int64(result.transactions)),
                "changes": .integer(Int64(result.changes)),
                "collectedObjects": .integer(Int64(collected.objects)),
                "collectedTransactions": .integer(Int64(collected.transactions)),
            ])
        } else {
            try Terminal.output.line(
                "\(path): deleted \(Plural.text(result.transactions, of: "transaction"))"
                    + " with \(Plural.text(result.changes, of: "change"))")
            if result.transactions == 0, !force { try await printHolders(in: store) }
            guard collected.objects + collected.transactions > 0 else { return }
            try Terminal.output.line(
                "\(path): deleted the merge records of "
                    + Plural.text(collected.objects, of: "deleted object") + " and "
                    + Plural.text(collected.transactions, of: "overwritten transaction"))
        }
    }

    /// Names the consumers that hold back the purge.
    private func printHolders(in store: any StoreAccess) async throws {
        let now = Timestamp.now()
        let live = try await store.consumers().filter {
            $0.kind != .writer && !$0.isLapsed(at: now)
        }
        guard let lowest = live.map(\.acknowledged).min() else { return }
        for consumer in live where consumer.acknowledged == lowest {
            try Terminal.output.line(
                "  consumer \(Printable.text(consumer.name)) has acknowledged only #\(lowest); "
                    + "to remove it: synctool consumers remove \(Shell.quoted(path)) "
                    + Shell.quoted(consumer.name))
        }
    }

    /// Deletes merge records in the file itself, like an exchange.
    private func collect() throws -> CollectionReport {
        // Where only the daemon may write the file, the daemon collects.
        guard FileManager.default.isWritableFile(atPath: StorePath.absolute(path)) else {
            return CollectionReport()
        }
        let replica = try StoreReplica(StorePath.absolute(path))
        defer { try? replica.close() }
        return try replica.collect()
    }
}
