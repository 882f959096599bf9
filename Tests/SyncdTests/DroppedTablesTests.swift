import Foundation
import SyncClient
import SyncCore
import SyncMerge
import Testing

/// Another program drops the tables of a store that the daemon has.
@Suite("Dropped tables, with the daemon", .timeLimit(.minutes(4)))
struct DaemonDroppedTablesTests {
    private func tables(_ store: String) throws -> [String] {
        try sqlite3(
            store,
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'syncd%'"
        ).split(separator: "\n").map(String.init)
    }

    /// Every table in a statement of its own, its indexes first, as a migration of Alembic drops
    /// what its models do not have.
    private func dropAll(_ store: String) throws {
        for table in try tables(store) {
            let indexes = try sqlite3(
                store,
                """
                SELECT name FROM sqlite_master
                WHERE type = 'index' AND tbl_name = '\(table)' AND sql IS NOT NULL
                """
            ).split(separator: "\n")
            for index in indexes { try sqlite3(store, "DROP INDEX IF EXISTS \(index)") }
            try sqlite3(store, "DROP TABLE IF EXISTS \(table)")
        }
    }

    /// Nothing of the new history is told before readers know that it is a new one.
    private func expectReplacedFirst(_ seen: Collector) {
        var store: StoreID?
        for notice in seen.notices {
            switch notice {
            case .began(let token): store = token.store
            case .storeReplaced(_, let new, _): store = new
            case .transaction(let transaction): #expect(transaction.token.store == store)
            default: break
            }
        }
    }

    private func write(_ store: String, _ sql: String) async throws {
        try await eventually("writers write: \(sql)") {
            do {
                try sqlite3(store, sql)
                return true
            } catch {
                return false
            }
        }
    }

    @Test(arguments: ["WAL", "DELETE"], [true, false])
    func itIsAStoreAgain(journal: String, isRunning: Bool) async throws {
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("music.db")
        try sqlite3(
            store,
            """
            PRAGMA journal_mode = \(journal);
            CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT);
            INSERT INTO Album VALUES (1, 'one'), (2, 'two');
            """)
        _ = try await daemon.client.track(store)
        try sqlite3(store, "UPDATE Album SET Title = 'before' WHERE AlbumId = 1")
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        if !isRunning { daemon.kill9() }
        try dropAll(store)
        if !isRunning {
            #expect(throws: (any Error).self) {
                try sqlite3(store, "UPDATE Album SET Title = 'refused' WHERE AlbumId = 2")
            }
            try await daemon.start()
        }
        try await write(store, "UPDATE Album SET Title = 'after' WHERE AlbumId = 2")
        // While the last tables go, writes may be part of what is read again, and not told.
        var answer = ""
        do {
            try await eventually("nothing is wrong") {
                do {
                    let findings = try await daemon.client.verify(store).findings
                    answer = "\(findings)"
                    return findings.isEmpty
                } catch {
                    answer = "\(error)"
                    return false
                }
            }
        } catch {
            Issue.record("\(error): \(answer)\n\(daemon.log)")
            return
        }
        if isRunning {
            try await eventually("readers are told to read again") {
                seen.has { if case .storeReplaced = $0 { true } else { false } }
            }
        } else {
            try await eventually("readers are told to read again") {
                (seen.error as? SyncError)?.needsResync == true
                    || seen.has { if case .storeReplaced = $0 { true } else { false } }
            }
        }
        try await daemon.logs("its identity is lost")
        let again = Collector(daemon.client.subscribe(store))
        try await again.begun()
        try await write(store, "UPDATE Album SET Title = 'told' WHERE AlbumId = 1")
        try await eventually("the write is told") { again.objects.contains("Album/1") }
        if isRunning {
            try await eventually("the old subscription goes on") {
                seen.objects.contains("Album/1")
            }
            #expect(seen.error == nil)
            expectReplacedFirst(seen)
        }
        let history = try await daemon.client.history(store)
        #expect(history.last?.changes.map(\.object.path) == ["Album/1"])
    }

    /// Nobody reads the journal: status, doctor and monitoring say it, until somebody has seen it.
    @Test func aNewStoreIsNamedUntilItIsSeen() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 1)
        func troubles() async throws -> [StoreTrouble.Work] {
            try await daemon.client.overview().stores.first { $0.store.path == store }?
                .troubles.map(\.work) ?? []
        }
        try dropAll(store)
        try await write(store, "INSERT INTO Artist VALUES (2, 'Bob')")
        // The daemon may have begun to mend while the last tables went: they go once more.
        try await eventually("nothing is missing") {
            (try? await daemon.client.verify(store).findings) == []
        }
        try await eventually("monitoring is told") { try await troubles() == [.remade] }
        let said = try await daemon.client.status(store).findings
        #expect(said.count == 1 && said[0].contains("since then this is a new store"), "\(said)")
        try Store.mend(store)
        try await eventually("it was seen") { try await troubles() == [] }
        #expect(try await daemon.client.status(store).findings == [])
        #expect(try Store.remade(store) == nil)
    }

    @Test func aDaemonUntracksARest() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 1)
        try sqlite3(store, "DROP TABLE syncd_log; CREATE TABLE syncd_log(mine)")
        try await eventually("it is untracked; log: \(daemon.log)") {
            do {
                return try await daemon.client.untrack(store) == ["table syncd_log"]
            } catch {
                return false
            }
        }
        try sqlite3(store, "INSERT INTO Artist VALUES (2, 'Bob')")
        #expect(
            try sqlite3(store, "SELECT name FROM sqlite_master WHERE name LIKE 'syncd%'")
                == "syncd_log")
    }
}
