import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// What a daemon told, and what readers of the file find afterwards.
@Suite("Settled history", .timeLimit(.minutes(5)))
struct SettledHistoryTests {
    private func direct(_ path: String, after token: Token? = nil) throws -> [Transaction] {
        let store = try Store.open(path)
        defer { try? store.close() }
        var query = HistoryQuery()
        query.after = token
        return try store.history(query)
    }

    /// What every reader sees alike: notices have no log positions.
    private func texts(_ transactions: some Sequence<Transaction>) -> [String] {
        transactions.map { transaction in
            let changes = transaction.changes.map { "\($0.kind.name) \($0.object.path)" }
            return "\(transaction.token) \(transaction.flags.names) \(changes)"
        }
    }

    @Test(arguments: ["WAL", "DELETE"])
    func readersOfTheFileFindWhatAKilledDaemonTold(mode: String) async throws {
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("settled.db")
        try sqlite3(
            store, "PRAGMA journal_mode = \(mode); CREATE TABLE Artist(id INTEGER PRIMARY KEY, n)")
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        var told: [Transaction] = []
        for round in 0..<4 {
            for number in 1...3 {
                let id = round * 3 + number
                try sqlite3(store, "INSERT INTO Artist VALUES (\(id), 'x')")
            }
            let count = (round + 1) * 3
            try await eventually("all rows are told") { seen.objects.count == count }
            told = seen.transactions
            // Beside the daemon, whether it has digested or not.
            #expect(texts(try direct(store)) == texts(told))
        }
        daemon.kill9()
        // The last connection removes the WAL.
        try sqlite3(store, "SELECT 1 FROM Artist")
        #expect(texts(try direct(store)) == texts(told))
        try sqlite3(store, "INSERT INTO Artist VALUES (99, 'x')")
        let rest = try direct(store, after: told[1].token)
        #expect(texts(rest.dropLast()) == texts(told.dropFirst(2)))
        #expect(rest.last?.changes.map(\.object.path) == ["Artist/99"])
        try await daemon.start()
        #expect(texts(try await daemon.client.history(store)) == texts(told + rest.suffix(1)))
    }

    @Test func theDaemonGoesOnAfterTheLogWasEmptied() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 1)
        try sqlite3(store, "INSERT INTO Artist VALUES (50, 'x')")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try await eventually("the daemon has digested") {
            try await daemon.client.status(store).pending == 0
        }
        try sqlite3(store, "DELETE FROM syncd_log")
        try await daemon.logs("rows of the table syncd_log were deleted")
        try await eventually("the store is open") {
            (try? await daemon.client.history(store)) != nil
        }
        try sqlite3(store, "INSERT INTO Artist VALUES (51, 'x')")
        try await eventually("later commits are told; log: \(daemon.log)") {
            seen.objects.contains("Artist/51")
        }
        #expect(seen.has { if case .storeReplaced = $0 { true } else { false } })
    }
}
