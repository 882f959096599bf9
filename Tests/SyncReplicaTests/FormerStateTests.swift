import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// Values that are stored otherwise than they are shown, in columns of `lastWriter`.
@Suite("States of a former policy")
struct FormerStateTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE page(id INTEGER PRIMARY KEY, hits INTEGER, tags TEXT, note BLOB);
        INSERT INTO page VALUES (1, 10, '["a"]', x'00'), (2, 20, '["b"]', NULL);
        """

    @Test("a counter that is one no more is a number on replicas that begin later")
    func formerCounter() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.replica.setPolicies(
            MergePolicies(entities: ["page": .init(columns: ["hits": .counter, "tags": .set])]))
        try b.pull(from: a)
        for store in [a, b] {
            try store.run(
                """
                UPDATE page SET hits = hits + 5; UPDATE page SET tags = '["a", "c"]' WHERE id = 1;
                INSERT INTO page VALUES (NULL, 1, '["x"]', NULL)
                """)
            _ = try store.replica.vector
            try store.run("UPDATE page SET hits = hits - 1, tags = json_array('x', 'y')")
            _ = try store.replica.vector
        }
        try a.pull(from: b)
        try a.replica.setPolicies(MergePolicies())
        let c = try a.copy(at: folder.file("c.db"))
        #expect(
            try a.rows("SELECT DISTINCT typeof(hits), typeof(tags) FROM page") == [
                ["integer", "text"]
            ])
        #expect(try c.dump() == a.dump())
        try b.pull(from: a)
        try a.pull(from: b)
        #expect(try b.dump() == a.dump())
        // Writing another column does not state them again.
        let before = try a.rows("SELECT hits, tags FROM page ORDER BY id")
        try c.run("UPDATE page SET hits = 7, tags = 'new' WHERE id = 1")
        try a.run("UPDATE page SET note = x'01'")
        _ = try a.replica.vector
        try TestStore.sync(a, c)
        #expect(try c.dump() == a.dump())
        #expect(try a.rows("SELECT hits, tags FROM page WHERE id = 1") == [[7, "new"]])
        #expect(
            try Array(before.dropFirst())
                == a.rows("SELECT hits, tags FROM page WHERE id > 1 ORDER BY id"))
    }

    @Test("a blob that begins as a state does is the same everywhere")
    func userBlob() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run("UPDATE page SET note = x'0073796e63641a01ff' WHERE id = 1")
        try a.run("INSERT INTO page VALUES (3, 1, NULL, x'0073796e63641a')")
        try b.pull(from: a)
        #expect(try b.dump() == a.dump())
        let c = try b.copy(at: folder.file("c.db"))
        try a.run("UPDATE page SET hits = 8 WHERE id IN (1, 3)")
        try TestStore.sync(a, b)
        try TestStore.sync(b, c)
        #expect(try b.dump() == a.dump())
        #expect(try c.dump() == a.dump())
    }
}
