import Foundation
import SyncTesting
import Synchronization
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// A wall clock that is suddenly wrong by years, in either direction, or right again.
@Suite("Clocks that jump by years", .timeLimit(.minutes(5)))
struct ClockJumpTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let day: Int64 = 86_400_000
    private static let year = 365 * day
    private static let jumps = [10 * year, -10 * year, 50 * year, -50 * year]

    private final class Wall: Sendable {
        private let time = Mutex<Int64>(1_800_000_000_000)
        var now: Int64 { time.withLock { $0 } }
        func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
    }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two'), (3, 'three')
        """

    /// Two replicas that have merged everything, with clocks of their own.
    private func pair() throws -> (a: TestStore, b: TestStore, left: Wall, right: Wall) {
        let (left, right) = (Wall(), Wall())
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(Self.schema)
        connection.close()
        try Store.track(path)
        let a = try TestStore(path, try StoreReplica(path, wall: { left.now }))
        let first = try a.replica.batches(since: VersionVector())
        let other = folder.file("b.db")
        let b = try TestStore(
            other, try StoreReplica.create(at: other, from: first[0], wall: { right.now }))
        try TestStore.sync(a, b)
        try meet(a, b)
        return (a, b, left, right)
    }

    private func meet(_ a: TestStore, _ b: TestStore) throws {
        try a.replica.noteAcknowledged([b.replica.replicaID: try b.replica.vector])
        try b.replica.noteAcknowledged([a.replica.replicaID: try a.replica.vector])
    }

    @Test("local writing goes on, and history keeps its order", arguments: jumps)
    func writing(_ jump: Int64) throws {
        let (a, b, left, _) = try pair()
        for step in [0, jump, -jump, 2 * jump] {
            left.advance(step)
            try a.run("UPDATE note SET text = text || '.' WHERE id = 1")
            try a.run("INSERT INTO note(text) VALUES ('at \(step)')")
            try TestStore.sync(a, b)
            try b.run("UPDATE note SET text = text || '!' WHERE id = 1")
            try TestStore.sync(a, b)
        }
        #expect(try a.rows("SELECT text FROM note WHERE id = 1") == [["one.!.!.!.!"]])
        #expect(try a.dump() == b.dump())
        for store in [a, b] {
            let opened = try Store.open(store.path)
            defer { try? opened.close() }
            let numbers = try opened.history().map(\.number)
            #expect(numbers == numbers.sorted())
        }
    }

    @Test("a replica from the future is merged, contained and named")
    func contained() throws {
        let (a, b, _, _) = try pair()
        // Commits have the time of their writer's clock: of now.
        let past = Timestamp(milliseconds: Timestamp.now().milliseconds - 10 * Self.year)
        try a.run("UPDATE note SET text = 'future' WHERE id = 2")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT text FROM note WHERE id = 2") == [["future"]])
        // b has seen it: its later edit counts, and its own clock did not follow.
        try b.run("UPDATE note SET text = 'now' WHERE id = 2")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT text FROM note WHERE id = 2") == [["now"]])
        let leads = try Store.clocksAhead(b.path, at: past)
        #expect(
            Set(leads.map(\.replica)) == [a.replica.replicaID, b.replica.replicaID])
        #expect(leads.filter(\.isOwn).map(\.replica) == [b.replica.replicaID])
        #expect(leads.allSatisfy { $0.ahead > .seconds(9 * 365 * 86_400) })
        #expect(try Store.clocksAhead(b.path).isEmpty, "by the clock of now nobody is ahead")
    }

    @Test("a jump ends no lease of a replica, and collects nothing that it needs", arguments: jumps)
    func peers(_ jump: Int64) throws {
        let (a, b, left, _) = try pair()
        try a.run("DELETE FROM note WHERE id = 3")
        _ = try a.replica.collect()
        #expect(try a.replica.peers.count == 1)
        left.advance(jump)
        for _ in 0..<3 { #expect(try a.replica.collect().objects == 0) }
        #expect(try a.replica.peers.count == 1, "the other replica is waited for")
        left.advance(-jump)
        for _ in 0..<3 { #expect(try a.replica.collect().objects == 0) }
        #expect(try a.replica.peers.count == 1)
        try TestStore.sync(a, b)
        try meet(a, b)
        #expect(try a.replica.collect().objects == 1, "and when it has merged it, it goes")
    }

    @Test("time that passes ends a lease, also after a jump", arguments: [0] + jumps)
    func leases(_ jump: Int64) throws {
        let (a, _, left, _) = try pair()
        try a.run("DELETE FROM note WHERE id = 3")
        _ = try a.replica.collect()
        left.advance(jump)
        for _ in 0..<33 {
            left.advance(Self.day)
            _ = try a.replica.collect()
        }
        #expect(try a.replica.peers.isEmpty, "it was away for longer than its lease")
    }

    @Test("collecting at an interval goes on when the clock was set back")
    func interval() throws {
        let (a, _, left, _) = try pair()
        #expect(try a.replica.collect(every: .seconds(3600)) != nil)
        #expect(try a.replica.collect(every: .seconds(3600)) == nil)
        left.advance(-10 * Self.year)
        // Where it was set to does not count as time that passed.
        #expect(try a.replica.collect(every: .seconds(3600)) == nil)
        for _ in 0..<3 {
            left.advance(3_600_001)
            #expect(try a.replica.collect(every: .seconds(3600)) != nil)
        }
    }

    // MARK: History

    /// A store with transactions that are 0, 1, …, 9 days old at `now`.
    private func history(until now: Int64) throws -> Store {
        let path = folder.file("h.db")
        let connection = try PlainConnection(path, wal: true)
        defer { connection.close() }
        try connection.run(Self.schema)
        try Store.track(path)
        try commit(connection, at: (0..<10).map { now - (9 - $0) * Self.day })
        return try Store.open(path)
    }

    private func commit(_ connection: PlainConnection, at times: [Int64]) throws {
        for time in times {
            try connection.run("INSERT INTO note(text) VALUES ('\(time)')")
            try connection.withoutTriggers {
                try connection.run(
                    """
                    UPDATE syncd_log SET ts = \(time) / 86400000.0 + 2440587.5
                    WHERE seq = (SELECT max(seq) FROM syncd_log)
                    """)
            }
            let store = try Store.open(
                connection.strings("SELECT file FROM pragma_database_list")[0])
            while try store.digest() {}
            try store.close()
        }
    }

    private static let limit = HistoryLimits(age: .seconds(30 * 86_400))

    @Test("a jump purges no history; time that passes does", arguments: jumps)
    func purge(_ jump: Int64) throws {
        var now: Int64 = 1_800_000_000_000
        let store = try history(until: now)
        defer { try? store.close() }
        func purged() throws -> Int {
            try store.purge(beyond: Self.limit, at: Timestamp(milliseconds: now)).transactions
        }
        let count = try store.history().count
        #expect(try purged() == 0)
        for step in [jump, Self.day, Self.day, -jump, Self.day] {
            now += step
            #expect(try purged() == 0, "after \(step)")
        }
        #expect(try store.history().count == count)
        for _ in 0..<45 {
            now += Self.day
            _ = try purged()
        }
        #expect(try store.history().count <= 1, "it is older than the limit by now")
    }

    @Test("a clock that is wrong for good keeps purging at the age of the limit")
    func purgeAfterwards() throws {
        var now: Int64 = 1_800_000_000_000
        let store = try history(until: now)
        defer { try? store.close() }
        now += 10 * Self.year
        let connection = try PlainConnection(folder.file("h.db"))
        defer { connection.close() }
        for _ in 0..<50 {
            _ = try store.purge(beyond: Self.limit, at: Timestamp(milliseconds: now))
            now += Self.day
            try commit(connection, at: [now])
        }
        let left = try store.history().count
        #expect(25...40 ~= left, "about thirty days: \(left)")
    }

    @Test("a jump ends no lease of a consumer, short or long", arguments: jumps)
    func consumers(_ jump: Int64) throws {
        var now: Int64 = 1_800_000_000_000
        let store = try history(until: now)
        defer { try? store.close() }
        func moment() -> Timestamp { Timestamp(milliseconds: now) }
        for (name, lease) in [("short", 3_600), ("long", 30 * 86_400), ("writer", 60)] {
            try store.register(consumer: name, lease: .seconds(lease), at: moment())
        }
        let token = try #require(try store.history().last?.token)
        func lapsed() throws -> [String] {
            _ = try store.purge(beyond: Self.limit, at: moment())
            return try store.consumers(at: moment()).filter { $0.isLapsed(at: moment()) }
                .map(\.name)
        }
        #expect(try lapsed().isEmpty)
        now += jump
        #expect(try lapsed().isEmpty)
        now += 50_000
        #expect(try lapsed().isEmpty)
        try store.acknowledge(consumer: "short", token, at: moment())
        now -= jump
        #expect(try lapsed().isEmpty)
        now += 3_700_000
        #expect(try lapsed() == ["short", "writer"], "time that passes counts")
        for _ in 0..<32 {
            now += Self.day
            _ = try lapsed()
        }
        #expect(try lapsed() == ["long", "short", "writer"])
    }

    @Test(
        "a row that nobody can have written is no clock",
        arguments: [
            "", "x", "1 2 3", "9223372036854775807 -9223372036854775808 0 0 0",
            "1 1 9223372036854775807 9223372036854775807 9223372036854775807",
        ])
    func damaged(_ text: String) throws {
        let store = try history(until: 1_800_000_000_000)
        defer { try? store.close() }
        let connection = try PlainConnection(folder.file("h.db"))
        defer { connection.close() }
        try connection.run("INSERT OR REPLACE INTO syncd_meta VALUES ('observed', '\(text)')")
        _ = try store.purge(beyond: Self.limit, at: Timestamp(milliseconds: .max))
        _ = try store.purge(beyond: Self.limit, at: Timestamp(milliseconds: .min))
        try store.register(consumer: "c", lease: .seconds(1), at: Timestamp(milliseconds: .max))
        _ = try store.consumers(at: Timestamp(milliseconds: .min))
    }
}
