import Foundation
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
            eventually { self.count(of: event) >= count }
        }
    }

    @Test func eachQuietCommitIsNoticed() throws {
        let folder = try TestFolder()
        let writer = try TestConnection(folder.path + "/a.db")
        try writer.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
        try writer.makeLog()
        let tail = try TestConnection(folder.path + "/a.db")
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
}

/// Waits until `condition` holds; false after ten seconds.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date().addingTimeInterval(10)
    while Date() < end {
        if try condition() { return true }
        usleep(500)
    }
    return false
}
