import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

@testable import syncd

/// Files whose paths are canonically equivalent: one text to Swift, two files.
@Suite(.timeLimit(.minutes(3))) struct EquivalentPathTests {
    private static let names = ["\u{e9}.db", "e\u{301}.db"]

    @Test func theyAreTwoStores() async throws {
        let daemon = try await TestDaemon()
        var stores: [String] = []
        for name in Self.names { stores.append(try await daemon.makeStore(name)) }
        let seen = stores.map { Collector(daemon.client.subscribe($0)) }
        for one in seen { try await one.begun() }
        for (number, store) in stores.enumerated() {
            try sqlite3(store, "INSERT INTO Album VALUES (\(number), 't', 1)")
        }
        try await eventually("each is told of its own commit") {
            seen.map(\.objects) == [["Album/0"], ["Album/1"]]
        }
        let listed = try await daemon.client.list().map { Array($0.path.utf8) }
        #expect(Set(listed) == Set(stores.map { Array($0.utf8) }))

        // They are remembered, both.
        #expect(daemon.stop() == 0)
        try await daemon.start()
        #expect(try await daemon.client.list().count == 2)

        _ = try await daemon.client.untrack(stores[1])
        #expect(
            try await daemon.client.list().map { Array($0.path.utf8) } == [Array(stores[0].utf8)])
        #expect(try await daemon.client.history(stores[0]).count == 1)
        let own = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'"
        #expect(try sqlite3(stores[1], own) == "0")
        #expect(try sqlite3(stores[0], own) != "0")
    }

    /// A user who may make a folder beside another's, in /tmp or in that of a group.
    @Test(.enabled(if: geteuid() == 0)) func theyMayBeOfTwoUsers() async throws {
        let scene = try await WorkerScene()
        let daemon = scene.daemon
        let bobs = try await WorkerScene.makeStore(
            "\u{e9}/0.db", owner: WorkerTests.bob, daemon)
        let seen = Collector(daemon.client.subscribe(bobs))
        try await seen.begun()
        let alices = try await WorkerScene.makeStore(
            "e\u{301}/0.db", owner: WorkerTests.alice, daemon)
        for (id, store) in [(2, bobs), (3, alices)] {
            try sqlite3(store, "INSERT INTO Artist VALUES (\(id), 'n')")
        }
        try await eventually("the subscription goes on") { seen.objects == ["Artist/2"] }
        #expect(seen.error == nil)
        for (object, store) in [("Artist/2", bobs), ("Artist/3", alices)] {
            let told = try await daemon.client.history(store).flatMap(\.changes)
            #expect(told.map(\.object.path) == [object])
        }
        #expect(!daemon.log.contains("another owner now"))
    }

    @Test func allThatIsKeptByPathKeepsThemApart() throws {
        let folder = try TemporaryFolder()
        let (first, second) = ("/a/\u{e9}.db", "/a/e\u{301}.db")
        let remembered = try RememberedStores(directory: folder.path)
        for path in [first, second, first] { try remembered.add(path) }
        #expect(remembered.all.count == 2)
        #expect(try RememberedStores(directory: folder.path).all.count == 2)
        try remembered.remove(first)
        #expect(remembered.all.map { Array($0.utf8) } == [Array(second.utf8)])

        let queue = ReplicationQueue()
        queue.post(about: first) { $0.committed += 1 }
        queue.post(about: second) { $0.committed += 2 }
        let events = queue.take()
        #expect(events[first]?.committed == 1 && events[second]?.committed == 2)

        var slots = ExchangeSlots(own: 1)
        #expect(slots.take(first, of: 1, at: .now) && slots.take(second, of: 1, at: .now))

    }
}
