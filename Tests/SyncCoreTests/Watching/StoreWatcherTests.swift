import Foundation
import SyncTesting
import Synchronization
import Testing

@testable import SyncCore

@Suite("Store watcher")
struct StoreWatcherTests {
    /// What the watcher said, as a test waits for it.
    final class Events: Sendable {
        private let state = Mutex<[StoreEvent]>([])

        func note(_ event: StoreEvent) { state.withLock { $0.append(event) } }

        func count(of event: StoreEvent) -> Int { state.withLock { $0.count { $0 == event } } }

        /// Waits until `event` came `count` times; false after ten seconds.
        func wait(for event: StoreEvent, count: Int = 1) -> Bool {
            waitUntil { self.count(of: event) >= count }
        }
    }

    @Test func eachQuietCommitIsNoticed() throws {
        let folder = try TemporaryFolder()
        let writer = try PlainConnection(folder.path + "/a.db")
        try writer.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        try writer.makeLog()
        let tail = try PlainConnection(folder.path + "/a.db")
        let watcher = try StoreWatcher()
        let events = Events()
        let id = try watcher.add(
            path: folder.path + "/a.db", index: WalIndex(tail.handle), onEvent: events.note)
        #expect(events.wait(for: .committed))
        for _ in 0..<50 {
            let before = events.count(of: .committed)
            try writer.run("INSERT INTO t(a) VALUES ('x')")
            #expect(events.wait(for: .committed, count: before + 1))
        }
        watcher.remove(id)
        let after = events.count(of: .committed)
        try writer.run("INSERT INTO t(a) VALUES ('x')")
        usleep(20_000)
        #expect(events.count(of: .committed) == after)
        watcher.stop()
    }

    private func makeStore(_ folder: TemporaryFolder, mode: String) throws -> String {
        let path = folder.path + "/a.db"
        let setup = try PlainConnection(path)
        try setup.run("PRAGMA journal_mode=\(mode); PRAGMA synchronous=OFF")
        try setup.makeLog()
        return path
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "MEMORY"])
    func commitsInRollbackModesAreNoticed(mode: String) throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: mode)
        let tail = try WatchedTail(path)
        #expect(tail.index == nil)
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: nil, onEvent: tail.handle)
        for number in 1...5 {
            try ForeignProcess.shell(
                path, "PRAGMA journal_mode=\(mode); INSERT INTO t(a) VALUES ('\(number)')")
            #expect(waitUntil { tail.last == Int64(number) })
        }
        watcher.stop()
        // Each was looked at before the next: the change counter moved by one. The first look has
        // nothing to compare with.
        #expect(tail.boundaries.dropFirst().allSatisfy { $0.isExact })
        #expect(tail.failures == [])
    }

    @Test func aSwitchToWalIsNoticed() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "DELETE")
        let tail = try WatchedTail(path)
        let watcher = try StoreWatcher()
        let id = watcher.add(path: path, index: nil, onEvent: tail.handle)
        #expect(waitUntil { tail.count(of: .committed) > 0 })
        let writer = try PlainConnection(path)
        try writer.run("PRAGMA journal_mode=WAL; INSERT INTO t(a) VALUES ('x')")
        #expect(waitUntil { tail.count(of: .journalModeChanged) > 0 })
        // The daemon does this after any look that found another wal-index.
        #expect(
            waitUntil {
                if let index = tail.index { watcher.setIndex(index, of: id) }
                return tail.last == 1
            }, "\(tail.failures)")
        for number in 2...20 {
            try writer.run("INSERT INTO t(a) VALUES ('x')")
            #expect(waitUntil { tail.last == Int64(number) })
        }
        watcher.stop()
        #expect(tail.boundaries.map(\.last) == Array(1...20))
        #expect(tail.failures == [])
    }

    @Test func anotherFileAtThePathIsNoticed() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let events = Events()
        let tail = try PlainConnection(path)
        let watcher = try StoreWatcher()
        _ = try watcher.add(path: path, index: WalIndex(tail.handle), onEvent: events.note)
        #expect(events.wait(for: .committed))
        let other = try PlainConnection(folder.path + "/b.db")
        try other.makeLog()
        try FileManager.default.copyItem(atPath: folder.path + "/b.db", toPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
        #expect(events.wait(for: .replaced))
        unlink(path)
        #expect(events.wait(for: .removed))
        try FileManager.default.copyItem(atPath: folder.path + "/b.db", toPath: path)
        #expect(events.wait(for: .replaced, count: 2))
        watcher.stop()
    }

    @Test func aFolderThatVanishesIsNoticed() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path + "/in", withIntermediateDirectories: true)
        let path = folder.path + "/in/a.db"
        try PlainConnection(path).makeLog()
        let events = Events()
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: nil, onEvent: events.note)
        #expect(events.wait(for: .committed))
        #expect(rename(folder.path + "/in", folder.path + "/out") == 0)
        #expect(events.wait(for: .removed))
        watcher.stop()
    }

    /// A burst turns the watch into polling; afterwards single commits are noticed as before.
    @Test func afterABurstSingleCommitsAreNoticed() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let writer = try PlainConnection(path)
        try writer.run("PRAGMA synchronous=OFF")
        let tail = try WatchedTail(path)
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: tail.index, onEvent: tail.handle)
        var last: Int64 = 0
        var singles: [Int64] = []
        for _ in 0..<3 {
            for _ in 0..<3_000 { try writer.run("INSERT INTO t(a) VALUES ('x')") }
            last += 3_000
            #expect(waitUntil { tail.last == last })
            for _ in 0..<10 {
                usleep(15_000)
                try writer.run("INSERT INTO t(a) VALUES ('x')")
                last += 1
                singles.append(last)
                #expect(waitUntil { tail.last == last })
            }
        }
        watcher.stop()
        // On a busy machine the writer goes round its WAL before the burst is read: its commits may
        // come together then. Those on their own never do.
        let ends = tail.boundaries.map(\.last)
        #expect(ends == Array(Set(ends)).sorted())
        #expect(Set(singles).isSubset(of: ends))
        #expect(tail.failures == [])
    }

    /// Nothing is pinned: no checkpoint is kept back, and the WAL does not grow.
    @Test func checkpointsAreNotStarved() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let writer = try PlainConnection(path)
        let tail = try WatchedTail(path)
        let watcher = try StoreWatcher()
        _ = watcher.add(path: path, index: tail.index, onEvent: tail.handle)
        for number in 1...20 {
            try writer.run("INSERT INTO t(a) VALUES ('x')")
            #expect(waitUntil { tail.last == Int64(number) })
            #expect(try writer.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0)
        }
        watcher.stop()
        #expect(tail.boundaries.map(\.last) == Array(1...20))
        #expect(tail.boundaries.dropFirst().allSatisfy { $0.isExact })
    }

    @Test func aPokeComesEvenWithoutACommit() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let tail = try PlainConnection(path)
        let events = Events()
        let watcher = try StoreWatcher()
        let id = try watcher.add(path: path, index: WalIndex(tail.handle), onEvent: events.note)
        #expect(events.wait(for: .committed))
        watcher.poke(id)
        #expect(events.wait(for: .committed, count: 2))
        watcher.poke(id, after: .milliseconds(20))
        #expect(events.wait(for: .committed, count: 3))
        watcher.stop()
        watcher.poke(id)
        watcher.remove(id)
    }

    @Test func storesComeAndGoWhileOthersAreWatched() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let writer = try PlainConnection(path)
        let watcher = try StoreWatcher()
        for number in 1...100 {
            let tail = try WatchedTail(path)
            let id = watcher.add(path: path, index: tail.index, onEvent: tail.handle)
            try writer.run("INSERT INTO t(a) VALUES ('x')")
            #expect(waitUntil { tail.last == Int64(number) })
            if number % 10 != 0 { watcher.remove(id) }
        }
        watcher.stop()
    }

    @Test func theWalIndexOutlivesItsConnection() throws {
        let folder = try TemporaryFolder()
        let path = try makeStore(folder, mode: "WAL")
        let writer = try PlainConnection(path)
        try writer.run("INSERT INTO t(a) VALUES ('x')")
        var tail: PlainConnection? = try PlainConnection(path)
        let index = try #require(try tail.flatMap { try WalIndex($0.handle) })
        let before = index.mark
        tail = nil
        try writer.run("INSERT INTO t(a) VALUES ('x')")
        #expect(index.mark != before)
        #expect(index.header()?.changeCount == index.mark.changeCount)
    }
}
