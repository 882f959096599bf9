import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

@testable import SyncCore

/// The -wal and the -shm are removed while the daemon has the store open: by hand, to put a backup
/// in place.
@Suite(.timeLimit(.minutes(5))) struct ForsakenFileTests {
    enum Way: String, CaseIterable { case both, wal, index, replacedBefore, replacedAfter }

    /// What programs commit afterwards is told once, and is there when the daemon has ended. SQLite
    /// alone would, when the daemon closes as the last one, write old pages over it and remove the
    /// programs' -wal.
    @Test(arguments: Way.allCases, TestSeed.first(2))
    func nothingThatIsCommittedLaterIsLost(_ way: Way, seed: TestSeed) async throws {
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("music.db")
        try sqlite3(
            store, "PRAGMA journal_mode = WAL; CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)"
        )
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try sqlite3(store, "INSERT INTO note VALUES (1, 'x')")
        let backup = daemon.directory.file("backup.db")
        try sqlite3(store, ".backup \(backup)")
        try sqlite3(store, "UPDATE note SET text = 'undone'")
        try await eventually("both are told") { seen.objects.count == 2 }
        // Nothing that programs wrote is in it: its removal takes nothing away.
        try await eventually("the WAL is empty; \(daemon.log)") {
            let size = try? FileManager.default.attributesOfItem(atPath: store + "-wal")[.size]
            return (size as? Int ?? 0) == 0
        }
        try await remove(way, of: store, with: backup, from: daemon, random: seed.random)
        for id in 2...4 { try sqlite3(store, "INSERT INTO note VALUES (\(id), 'after')") }
        try await eventually("all are told; \(seen.objects); \(daemon.log)") {
            // It is refused while the store is being opened.
            let history = (try? await daemon.client.history(store)) ?? []
            let objects = history.flatMap(\.changes).map(\.object.path)
            return (2...4).allSatisfy { id in objects.count { $0 == "note/\(id)" } == 1 }
        }
        try sqlite3(store, "INSERT INTO note VALUES (5, 'last')")
        try await eventually("the last one is told; \(daemon.log)") {
            seen.objects.contains("note/5")
        }
        #expect(daemon.stop() == 0)
        #expect(try sqlite3(store, "SELECT group_concat(id) FROM note") == "1,2,3,4,5")
        #expect(try sqlite3(store, "PRAGMA integrity_check") == "ok")
    }

    private func remove(
        _ way: Way, of store: String, with backup: String, from daemon: TestDaemon,
        random: SeededRandom
    ) async throws {
        var random = random
        func removeBoth() {
            for ending in ["-wal", "-shm"].shuffled(using: &random) {
                unlink(store + ending)
                // The daemon opens the store again meanwhile, or has not begun.
                usleep(UInt32.random(in: 0...3_000, using: &random))
            }
        }
        switch way {
        case .both: removeBoth()
        case .wal: unlink(store + "-wal")
        case .index: unlink(store + "-shm")
        case .replacedBefore:
            // What docs/operations.md says.
            removeBoth()
            #expect(rename(backup, store) == 0)
        case .replacedAfter:
            // As a person types it: the daemon has opened the new file.
            #expect(rename(backup, store) == 0)
            try await eventually("the new file is open; \(daemon.log)") {
                FileManager.default.fileExists(atPath: store + "-shm")
                    && daemon.log.contains("another file is at the path now")
            }
            removeBoth()
        }
    }
}
