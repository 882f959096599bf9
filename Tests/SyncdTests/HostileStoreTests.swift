import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncStorage
import SyncTesting
import Testing

@testable import syncd

/// What the owner of one store does with its files and its schema keeps nobody else waiting.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "only root can give files away"))
struct HostileStoreTests {
    private static let bob: UInt32 = 2001

    /// A daemon with a store of root's.
    private func makeDaemon() async throws -> (TestDaemon, store: String) {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        return (daemon, try await daemon.makeStore("victim.db"))
    }

    /// A tracked store of bob's; nothing has it open afterwards.
    private func makeHostile(_ daemon: TestDaemon, _ name: String) async throws -> String {
        let path = try await daemon.makeStore(name)
        try await daemon.give(path, to: Self.bob)
        return path
    }

    /// Another store is answered about, and its commits reach subscribers.
    private func expectService(_ daemon: TestDaemon, of store: String) async throws {
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        _ = try await daemon.client.status(store)
        let before = seen.transactions.count
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('x')")
        try await eventually("a notice") { seen.transactions.count > before }
    }

    private func makePipe(at path: String) {
        unlink(path)
        mkfifo(path, 0o666)
        chmod(path, 0o666)
        chown(path, Self.bob, Self.bob)
    }

    @Test(arguments: ["-journal", "-wal", "-shm"])
    func aPipeBesideADatabaseIsRefused(_ ending: String) async throws {
        let (daemon, victim) = try await makeDaemon()
        for index in 0..<5 {
            let path = daemon.directory.file("pipe\(index).db")
            try sqlite3(path, "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            if ending != "-journal" { try sqlite3(path, "PRAGMA journal_mode = WAL") }
            chown(path, Self.bob, Self.bob)
            makePipe(at: path + ending)
            do {
                _ = try await daemon.client.track(path)
                Issue.record("it was tracked")
            } catch let error as SyncError {
                #expect(error.reason.contains("is not a regular file"), "\(error)")
                #expect(error.hint?.contains("rm ") == true)
            }
        }
        try await expectService(daemon, of: victim)
        #expect(daemon.stop() == 0)
    }

    @Test func aPipeThatComesLaterIsRefused() async throws {
        let (daemon, victim) = try await makeDaemon()
        for index in 0..<5 {
            let path = daemon.directory.file("pipe\(index).db")
            try sqlite3(path, "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            chown(path, Self.bob, Self.bob)
            _ = try await daemon.client.track(path)
            makePipe(at: path + "-journal")
            utimes(path, nil)
        }
        try await expectService(daemon, of: victim)
        // After a restart they are opened again.
        #expect(daemon.stop() == 0)
        try await daemon.start()
        try await expectService(daemon, of: victim)
        for summary in try await daemon.client.list() where summary.path != victim {
            #expect(summary.state != .open)
        }
        #expect(daemon.stop() == 0)
    }

    @Test func aStoreOfAnotherUserIsOpenAfterARestart() async throws {
        let (daemon, _) = try await makeDaemon()
        let store = try await makeHostile(daemon, "other.db")
        let id = try #require(try await daemon.client.status(store).store.id)
        for _ in 0..<5 {
            #expect(daemon.stop() == 0)
            try await daemon.start()
            // At once, by path and by id: it is opened for the first call, or being opened.
            #expect(try await daemon.client.status(store).store.id == id)
            #expect(try await daemon.client.status("\(id)").store.path == store)
        }
    }

    private static let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

    @Test func aTriggerOnTheTablesOfHistoryDoesNotFire() async throws {
        let (daemon, victim) = try await makeDaemon()
        for index in 0..<5 {
            let store = try await makeHostile(daemon, "trigger\(index).db")
            try sqlite3(
                store,
                """
                CREATE TRIGGER evil AFTER INSERT ON syncd_change BEGIN SELECT (\(Self.endless)); END;
                INSERT INTO Artist(Name) VALUES ('q'); INSERT INTO Artist(Name) VALUES ('q');
                """)
        }
        // The digest begins two seconds after the last commit.
        try await Task.sleep(for: .seconds(3))
        try await expectService(daemon, of: victim)
        let pending = try await daemon.client.status(daemon.directory.file("trigger0.db")).pending
        #expect(pending == 0, "it was digested")
        #expect(daemon.stop() == 0)
    }

    @Test func aViewIsNoLog() async throws {
        let (daemon, victim) = try await makeDaemon()
        let store = try await makeHostile(daemon, "view.db")
        let triggers = try sqlite3(
            store, "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        let drops = triggers.split(separator: "\n").map { "DROP TRIGGER \"\($0)\";" }
        try sqlite3(
            store,
            """
            DROP VIEW syncd_txn; \(drops.filter { !$0.contains("syncd_txn") }.joined())
            ALTER TABLE syncd_log RENAME TO syncd_log_old;
            CREATE VIEW syncd_log(seq, op, m, ts, pk, v0, v1, v2, v3, v4, v5) AS
              WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
              SELECT x, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM c WHERE x < 0;
            INSERT INTO Artist(Name) VALUES ('q');
            """)
        try await Task.sleep(for: .seconds(1))
        try await expectService(daemon, of: victim)
        #expect(daemon.stop() == 0)
    }

    @Test func aTruncatedSharedMemoryFileEndsNothing() async throws {
        let (daemon, victim) = try await makeDaemon()
        let store = try await makeHostile(daemon, "truncated.db")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        for round in 0..<3 {
            let before = seen.objects.count
            // While a connection of the daemon is open.
            try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('q')")
            #expect(truncate(store + "-shm", 0) == 0)
            try await Task.sleep(for: .seconds(2))
            #expect(daemon.isRunning, "round \(round): \(daemon.log)")
            try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('r')")
            // Both rows, in one transaction or in two: the end of the first may have been lost.
            try await eventually("its own notices go on: \(daemon.log)") {
                seen.objects.count >= before + 2
            }
        }
        try await daemon.logs("truncated.db-shm: the store is opened again")
        #expect(try sqlite3(store, "PRAGMA integrity_check") == "ok")
        try await expectService(daemon, of: victim)
        #expect(daemon.stop() == 0)
    }
}
