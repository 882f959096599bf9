import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// An older copy takes the place of a file without a rename: inode and path stay.
@Suite(.timeLimit(.minutes(3))) struct RestoredFileTests {
    enum Way: String, CaseIterable { case restore, copy }

    private func isReplaced(_ notice: Notice) -> Bool {
        if case .storeReplaced = notice { true } else { false }
    }

    private func makeStore(_ daemon: TestDaemon, mode: String) async throws -> String {
        let store = daemon.directory.file("music.db")
        try sqlite3(
            store,
            "PRAGMA journal_mode = \(mode); CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        _ = try await daemon.client.track(store)
        return store
    }

    private func insert(_ ids: ClosedRange<Int>, into store: String) throws {
        for id in ids { try sqlite3(store, "INSERT INTO note VALUES (\(id), 'x')") }
    }

    private func restore(_ backup: String, over store: String, by way: Way) throws {
        switch way {
        case .restore: try sqlite3(store, ".restore \(backup)")
        case .copy:
            let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: store))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes)
            try file.close()
        }
    }

    /// After the notice everything is told; a token of what is gone is refused.
    @Test(arguments: ["WAL", "DELETE"], Way.allCases)
    func subscribersHearOfItAndGoOn(_ mode: String, _ way: Way) async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: mode)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try insert(1...1, into: store)
        let backup = daemon.directory.file("backup.db")
        try sqlite3(store, ".backup \(backup)")
        try insert(2...4, into: store)
        try await eventually("four are told") { seen.objects.count == 4 }
        let gone = try #require(seen.transactions.last?.token)
        // A copy over a file with a WAL that holds anything would make a mixture of both.
        try await eventually("the WAL is empty") {
            let size = try? FileManager.default.attributesOfItem(atPath: store + "-wal")[.size]
            return (size as? Int ?? 0) == 0
        }
        try restore(backup, over: store, by: way)
        try insert(11...11, into: store)
        try await eventually("replaced; log: \(daemon.log)") { seen.has(isReplaced) }
        // The one before the notice may come before it, after it or, as what was there, not at all.
        try insert(12...15, into: store)
        try await eventually("the rest") {
            seen.objects.suffix(4) == (12...15).map { "note/\($0)" }
        }
        #expect(seen.transactions.last?.token.epoch == gone.epoch + 1)
        var query = HistoryQuery()
        query.after = gone
        await #expect(throws: SyncError(.foreignHistory, "")) {
            try await daemon.client.history(store, matching: query)
        }
    }

    /// As many commits as were lost are made before the daemon looks.
    @Test func aCopyThatHasGrownSinceIsFoundToo() async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: "DELETE")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try insert(1...1, into: store)
        let backup = daemon.directory.file("backup.db")
        try sqlite3(store, ".backup \(backup)")
        try insert(2...4, into: store)
        try await eventually("four are told") { seen.objects.count == 4 }
        daemon.signal(SIGSTOP)
        try restore(backup, over: store, by: .restore)
        try insert(11...16, into: store)
        daemon.signal(SIGCONT)
        try await eventually("replaced; log: \(daemon.log)") { seen.has(isReplaced) }
        try insert(17...17, into: store)
        try await eventually("goes on") { seen.objects.last == "note/17" }
    }

    @Test func whatWasRestoredWhileTheDaemonWasAwayIsFoundToo() async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: "WAL")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let backup = daemon.directory.file("backup.db")
        try sqlite3(store, ".backup \(backup)")
        try insert(1...3, into: store)
        try await eventually("told") { seen.objects.count == 3 }
        let gone = try #require(seen.transactions.last?.token)
        daemon.kill9()
        try restore(backup, over: store, by: .restore)
        try await daemon.start()
        #expect(try await daemon.client.head(store).epoch == gone.epoch + 1)
    }

    /// With all writers stopped, a moment after the last of them: the WAL is not empty.
    @Test func aFileThatIsMovedOverAnotherStaysWhole() async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: "WAL")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try insert(1...3, into: store)
        let other = daemon.directory.file("other.db")
        try sqlite3(store, "VACUUM INTO '\(other)'")
        try sqlite3(
            store,
            """
            CREATE TABLE big(id INTEGER PRIMARY KEY, x);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO big SELECT i, hex(randomblob(50)) FROM n;
            DROP TABLE big;
            """)
        rename(other, store)
        try await eventually("replaced; log: \(daemon.log)") { seen.has(isReplaced) }
        #expect(try sqlite3(store, "PRAGMA integrity_check; SELECT count(*) FROM note") == "ok\n3")
    }

    /// A store that is quiet has no WAL that would be taken for that of another file.
    @Test func aQuietStoreHasAnEmptyWAL() async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: "WAL")
        try insert(1...3, into: store)
        try await eventually("digested") {
            try sqlite3(store, "SELECT count(*) FROM syncd_transaction") == "3"
        }
        try await eventually("empty") {
            let size = try? FileManager.default.attributesOfItem(atPath: store + "-wal")[.size]
            return (size as? Int ?? 0) == 0
        }
    }

    /// Deleted, made again, tracked again.
    @Test func aFileThatIsMadeAgainIsFollowedAgain() async throws {
        let daemon = try await TestDaemon()
        let store = try await makeStore(daemon, mode: "WAL")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        for round in 1...3 {
            try insert(1...1, into: store)
            try await eventually("told \(round)") { seen.objects.count == 2 * round - 1 }
            for end in ["", "-wal", "-shm"] { unlink(store + end) }
            let removed = { (notice: Notice) in
                if case .storeRemoved = notice { true } else { false }
            }
            try await eventually("removed") { seen.notices.count(where: removed) == round }
            _ = try await makeStore(daemon, mode: "WAL")
            try await eventually("replaced; log: \(daemon.log)") {
                seen.notices.count(where: isReplaced) == round
            }
            try insert(2...2, into: store)
            try await eventually("goes on") { seen.objects.count == 2 * round }
        }
    }
}
