import Foundation
import SyncTesting
import Testing

@testable import SyncCore

/// Each commit of other processes is seen, however fast they are and however they end.
@Suite("No commit is missed", .serialized)
struct MissedCommitTests {
    /// Commits flat out; each transaction has a name of its own, and 1 to 3 rows.
    private static let writer = """
        import sqlite3, sys
        path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
        db = sqlite3.connect(path, timeout=60, isolation_level=None)
        db.execute("PRAGMA synchronous=OFF")
        for n in range(count):
            db.execute("BEGIN IMMEDIATE")
            for _ in range(1 + n % 3):
                db.execute("INSERT INTO t(a) VALUES (?)", (f"{name}.{n}",))
            db.execute("COMMIT")
        """

    private func makeStore(_ folder: TemporaryFolder) throws -> String {
        let path = folder.path + "/a.db"
        let setup = try PlainConnection(path)
        try setup.run("PRAGMA journal_mode=WAL")
        try setup.makeLog()
        return path
    }

    @Test func flatOutFromTwoProcesses() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder)
        let tail = try WatchedTail(path)
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: tail.index, onEvent: tail.handle)
        let count = 50_000
        let writers = try ["p", "q"].map {
            try ForeignProcess.python(Self.writer, path, $0, "\(count)")
        }
        for writer in writers { #expect(writer.wait() == 0) }
        let newest = try PlainConnection(path).integer("SELECT max(seq) FROM syncd_log")
        #expect(waitUntil { tail.last == newest })
        watcher.stop()
        #expect(tail.failures == [])
        // A watcher that gets no processor for long may find the WAL reset twice: then it says
        // so.
        let names = try tail.names()
        for (boundary, group) in zip(tail.boundaries, names) where boundary.isExact {
            #expect(group.count == 1, "merged: \(group)")
        }
        let all = names.reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(all.count == 2 * count)
        let groups = names.reduce(0) { $0 + $1.count }
        #expect(groups == 2 * count, "split")
        let inexact = tail.boundaries.count { !$0.isExact }
        #expect(inexact <= 20, "\(inexact) of \(tail.boundaries.count) boundaries are not exact")
    }

    /// Writers that die anywhere leave half-written frames, and commits that were never published.
    @Test func writersAreKilled() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder)
        let tail = try WatchedTail(path)
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: tail.index, onEvent: tail.handle)
        let seed = TestSeed.drawn()
        var random = seed.random
        for round in 0..<25 {
            let writer = try ForeignProcess.python(Self.writer, path, "k\(round)", "1000000")
            let before = tail.last
            #expect(waitUntil { tail.last > before }, "\(seed)")
            usleep(UInt32.random(in: 0...40_000, using: &random))
            writer.kill()
        }
        try ForeignProcess.shell(path, "INSERT INTO t(a) VALUES ('end')")
        let newest = try PlainConnection(path).integer("SELECT max(seq) FROM syncd_log")
        #expect(waitUntil { tail.last == newest })
        watcher.stop()
        #expect(tail.failures == [])
        let names = try tail.names()
        for (boundary, group) in zip(tail.boundaries, names) where boundary.isExact {
            #expect(group.count == 1, "\(seed), merged: \(group)")
        }
        #expect(Set(names.joined()).count == names.reduce(0) { $0 + $1.count }, "\(seed), split")
    }
}
