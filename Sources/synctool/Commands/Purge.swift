import ArgumentParser
import Foundation
import SyncClient
import SyncReplica

/// `synctool purge DB`
struct Purge: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete old history.",
        discussion: """
            Deletes the history up to the lowest position that a live consumer has acknowledged, \
            or the transactions that --before or --older-than select. What a consumer still needs \
            is refused without --force.

            --object takes the values of one object out of the history of this file, not the \
            history itself: deleted values, old values of updates, and overridden values of \
            resolved conflicts. Open conflicts of the object have to be resolved first.

            In a synchronised store this also deletes the merge records of deleted objects and \
            overwritten transactions that all replicas have merged. Replicas that have not been \
            seen for thirty days are not waited for: when they come back, they get a snapshot.
            Changes are recorded for the other replicas before their history is deleted.
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Delete only transactions before this position: a number, a token or a date.",
            valueName: "position"))
    var before: String?

    @Option(
        help: ArgumentHelp(
            "Delete only transactions older than this: 90s, 12h, 30d, 8w.", valueName: "age"))
    var olderThan: Lease?

    @Option(
        help: ArgumentHelp(
            "Delete the values of this object, and no transactions.", valueName: "entity/key"))
    var object: String?

    @Flag(help: "Delete also what consumers still need; they must start over.")
    var force = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    func validate() throws {
        if before != nil, olderThan != nil {
            throw ValidationError("--before and --older-than exclude each other.")
        }
        if force, before == nil, olderThan == nil {
            throw ValidationError(
                "--force has no effect without --before or --older-than: nothing is deleted then "
                    + "that a consumer needs.")
        }
        if object != nil, before != nil || olderThan != nil || access.socket != nil {
            throw ValidationError("--object takes neither --before, --older-than nor --socket.")
        }
    }

    mutating func run() async throws {
        if let object { return try erase(object) }
        let position = try limit()
        let store = try await Access.open(path, using: access)
        let before = try await token(position, in: store)
        if position != nil, before == nil {
            return try report(PurgeResult(transactions: 0, changes: 0), CollectionReport())
        }
        let (collected, result) = try await ProgressLine.during("purge") {
            // It records for other replicas what history alone has, which the purge would leave.
            (try collect(), try await store.purge(before: before, force: force))
        }
        try report(result, collected)
        if !output.isJSON, result.transactions == 0, !force { try await printHolders(in: store) }
    }

    /// The position before which transactions go; nil: as far as consumers allow.
    private func limit() throws -> Position? {
        if let olderThan { return .date(Timestamp.now() - olderThan.duration) }
        return try before.map { try Position(option: "--before", value: $0) }
    }

    /// The token of the first transaction that stays; nil when there is none after a date.
    private func token(_ position: Position?, in store: any StoreAccess) async throws -> Token? {
        switch position {
        case nil: return nil
        case .token(let token): return token
        case .number(let number):
            return try LocalStore.with(path) { try Position.token(ofTransaction: number, in: $0) }
        case .date(let date):
            var query = HistoryQuery()
            query.since = date
            query.limit = 1
            var found: Token?
            try await store.forEachTransaction(matching: query) { found = $0.token }
            if let found { return found }
            // Everything is older; the newest transaction always stays.
            (query.since, query.reverse) = (nil, true)
            try await store.forEachTransaction(matching: query) { found = $0.token }
            return found
        }
    }

    private func erase(_ object: String) throws {
        let name = try ObjectName(path: object)
        let conflicts = try StoreReplica.eraseConflicts(of: name, at: StorePath.absolute(path))
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        let report = try store.erase(name)
        if output.isJSON {
            return try Terminal.output.json([
                "object": .string(report.object.path),
                "tombstones": .integer(Int64(report.tombstones)),
                "updates": .integer(Int64(report.updates)),
                "conflicts": .integer(Int64(conflicts)),
            ])
        }
        try Terminal.output.line(
            "\(path): removed the values of \(Printable.text(report.object.path)) from "
                + "\(Plural.text(report.tombstones, of: "delete")) and "
                + Plural.text(report.updates, of: "update")
                + (conflicts > 0 ? " and \(Plural.text(conflicts, of: "conflict"))" : ""))
        try Terminal.output.line(
            "  Other replicas, remotes and backups keep what they have, and so do the records of "
                + "merging in this file.")
    }

    private func report(_ result: PurgeResult, _ collected: CollectionReport) throws {
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
