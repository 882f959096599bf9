import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// History names a merged transaction as the author of what it changed here, and of nothing else.
@Suite("Authors of merged values")
struct MergedAuthorTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Two replicas of a store with a row, both of which merge by the lane, or do not.
    private func pair(usesLane: Bool) throws -> [TestStore] {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT, rank INTEGER);
                INSERT INTO note VALUES (1, 'first', 1)
                """)
        return try [a, b].map { store in
            try store.replica.close()
            try Store.track(store.path, options: ["note": CaptureOptions(undo: true)])
            let replica = try StoreReplica(
                store.path, wall: { Timestamp.now().milliseconds }, usesLane: usesLane)
            return try TestStore(store.path, replica)
        }
    }

    /// The updates that merged transactions made, each as its columns with their values before.
    private func mergedUpdates(in store: TestStore) throws -> [[String]] {
        let opened = try Store.open(store.path)
        defer { try? opened.close() }
        return try opened.history().filter { $0.flags.contains(.remote) }.flatMap(\.changes)
            .filter { $0.kind == .update }
            .map { change in
                change.properties.map { "\($0) \(change.oldValues?[$0].map { "\($0)" } ?? "?")" }
            }
    }

    /// The replica whose transaction wrote a value; nil: this one.
    private func author(of property: String, in store: TestStore) throws -> ReplicaID? {
        let opened = try Store.open(store.path)
        defer { try? opened.close() }
        let blame = try opened.blame(ObjectName(path: "note/1"), asOf: opened.head())
        return try #require(blame.transactions[property]).origin?.replica
    }

    @Test("a value that another one overrides has no part in history", arguments: [false, true])
    func overridden(usesLane: Bool) throws {
        let stores = try pair(usesLane: usesLane)
        try stores[0].run("UPDATE note SET text = '0', rank = 10 WHERE id = 1")
        try stores[1].run("UPDATE note SET text = '1' WHERE id = 1")
        try TestStore.sync(stores[0], stores[1])
        let shown = try stores[0].rows("SELECT text FROM note")
        #expect(try stores[1].rows("SELECT text, rank FROM note") == [shown[0] + [10]])
        let winner = shown == [["0"]] ? 0 : 1
        #expect(try author(of: "text", in: stores[winner]) == nil)
        #expect(
            try author(of: "text", in: stores[1 - winner]) == stores[winner].replica.replicaID)
        #expect(try author(of: "rank", in: stores[0]) == nil)
        #expect(try author(of: "rank", in: stores[1]) == stores[0].replica.replicaID)
        let rank = "rank \(Value.integer(1))"
        let expected: [[[String]]] =
            winner == 0
            ? [[], [["text \(Value.text("1"))", rank]]] : [[["text \(Value.text("0"))"]], [[rank]]]
        #expect(try stores.map { try mergedUpdates(in: $0) } == expected)
    }

    @Test("what two replicas wrote alike is by each of them itself", arguments: [false, true])
    func alike(usesLane: Bool) throws {
        let stores = try pair(usesLane: usesLane)
        for store in stores { try store.run("UPDATE note SET text = 'same' WHERE id = 1") }
        try TestStore.sync(stores[0], stores[1])
        for store in stores {
            #expect(try mergedUpdates(in: store).isEmpty)
            #expect(try author(of: "text", in: store) == nil)
        }
    }

    @Test(
        "of two updates that arrive together the one that changed something has the old value",
        arguments: [false, true])
    func together(usesLane: Bool) throws {
        let stores = try pair(usesLane: usesLane)
        try stores[0].run("UPDATE note SET text = 'between' WHERE id = 1")
        _ = try stores[0].replica.vector
        try stores[0].run("UPDATE note SET text = 'first', rank = 2 WHERE id = 1")
        try TestStore.sync(stores[0], stores[1])
        #expect(try mergedUpdates(in: stores[1]) == [["rank \(Value.integer(1))"]])
    }

    /// Eight of them: which of the two keeps the number depends on their identities.
    @Test("a row that was united with another one is inserted by the change that divides them")
    func dividedRows() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, n TEXT, u TEXT UNIQUE)")
        func insert(_ name: String) -> String {
            "WITH i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < 8) "
                + "INSERT INTO t SELECT i, '\(name)', 'u' || i FROM i"
        }
        try a.run(insert("a"))
        _ = try a.replica.vector
        try b.run(insert("b"))
        try a.pull(from: b)
        try b.run("UPDATE t SET u = NULL")
        try a.pull(from: b)
        let counts = "SELECT n, count(u), count(*) FROM t GROUP BY n ORDER BY n"
        #expect(try a.rows(counts) == [["a", 8, 8], ["b", 0, 8]])
        for id in 9...16 { #expect(try a.kinds(of: "t/\(id)") == [.insert]) }
    }
}
