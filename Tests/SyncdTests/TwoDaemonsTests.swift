import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// A system's daemon and a user's own daemon on one store: other state directories, other sockets.
@Suite("Two daemons on one store", .timeLimit(.minutes(5)))
struct TwoDaemonsTests {
    /// What every reader sees alike.
    private func texts(_ transactions: some Sequence<Transaction>) -> [String] {
        transactions.map { transaction in
            let changes = transaction.changes.map { "\($0.kind.name) \($0.object.path)" }
            return "\(transaction.token) \(transaction.flags.names) \(changes)"
        }
    }

    private func direct(_ path: String) throws -> [Transaction] {
        let store = try Store.open(path)
        defer { try? store.close() }
        return try store.history()
    }

    /// Both tell each commit once, with the same number and contents, and so does the file, with
    /// readers and a merging process between, and while one of them is killed and started again.
    @Test(arguments: ["WAL", "DELETE"])
    func bothTellTheSameTransactions(mode: String) async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("shared.db")
        try sqlite3(
            store,
            """
            PRAGMA journal_mode = \(mode);
            CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
            """)
        let daemons = [try await TestDaemon(), try await TestDaemon()]
        for daemon in daemons { _ = try await daemon.client.track(store) }
        let seen = daemons.map { Collector($0.client.subscribe(store)) }
        for collector in seen { try await collector.begun() }
        let perWriter = 120
        let writers = try (0..<2).map { _ in try Writer(store, commits: perWriter) }
        var rounds = 0
        while writers.contains(where: \.isRunning) {
            rounds += 1
            if rounds == 3 {
                daemons[1].kill9()
                try await daemons[1].start()
            }
            _ = try direct(store)
            try await Task.sleep(for: .milliseconds(20))
        }
        for writer in writers { #expect(writer.status() == 0) }
        for (collector, daemon) in zip(seen, daemons) {
            try await eventually("all rows are told; log: \(daemon.log)") {
                Set(collector.objects).count == 2 * perWriter
            }
            #expect(collector.objects.count == 2 * perWriter, "nothing is told twice")
            collector.expectAscending()
        }
        let history = texts(try direct(store))
        #expect(texts(seen[0].transactions) == history)
        #expect(texts(seen[1].transactions) == history)
        for daemon in daemons { #expect(texts(try await daemon.client.history(store)) == history) }
    }
}
