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

    @Test(arguments: ["WAL", "DELETE"])
    func readersOfTheFileFindWhatAKilledDaemonTold(mode: String) async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        try sqlite3(store, "PRAGMA journal_mode = \(mode)")
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
            #expect(try direct(store).map(\.token) == told.map(\.token))
        }
        daemon.kill9()
        // The last connection removes the WAL.
        try sqlite3(store, "SELECT 1 FROM Artist")
        #expect(try direct(store) == told)
        try sqlite3(store, "INSERT INTO Artist VALUES (99, 'x')")
        let rest = try direct(store, after: told[1].token)
        #expect(Array(rest.dropLast()) == Array(told.dropFirst(2)))
        #expect(rest.last?.changes.map(\.object.path) == ["Artist/99"])
        try await daemon.start()
        #expect(try await daemon.client.history(store) == told + rest.suffix(1))
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
        try await eventually("it is repaired; log: \(daemon.log)") {
            daemon.log.contains("rows of the table syncd_log were deleted")
        }
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
