import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// `syncd_extent`: what was written after a place is found by it.
@Suite("Extents of objects")
struct ObjectExtentsTests {
    private static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100)
        INSERT INTO item SELECT x, 'item ' || x FROM n;
        """

    /// Leaves the store as an earlier version does.
    private func makeEarlier(_ store: TestStore) throws {
        try store.run(
            """
            DROP TABLE syncd_extent; CREATE INDEX syncd_object_place ON syncd_object(place);
            UPDATE syncd_meta SET value = value & ~512 WHERE key = 'writes'
            """)
    }

    private func bit(of store: TestStore) throws -> [[Value]] {
        try store.rows("SELECT value & 512 FROM syncd_meta WHERE key = 'writes'")
    }

    private func isCovered(_ store: TestStore) throws -> Bool {
        try store.replica.run("test") { session in
            try session.transact { try ObjectExtents.uncovered(on: $0.connection) == nil }
        }
    }

    @Test("a store of an earlier version gets them with the next exchange, and sends what it lacks")
    func earlier() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        #expect(try bit(of: a) == [[512]])
        try a.run("UPDATE item SET name = 'A' WHERE id IN (2, 70)")
        _ = try a.replica.position()
        try makeEarlier(a)
        try b.run("UPDATE item SET name = 'B' WHERE id = 50")
        try TestStore.sync(a, b)
        #expect(try bit(of: a) == [[512]])
        #expect(
            try a.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'syncd_object_place'")
                .isEmpty)
        #expect(
            try b.rows("SELECT id, name FROM item WHERE name NOT LIKE 'item %'")
                == [[2, "A"], [50, "B"], [70, "A"]])
        #expect(try isCovered(a))
        #expect(try a.dump() == b.dump())
    }

    @Test("where the table was dropped it is made again")
    func dropped() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run("UPDATE item SET name = 'A' WHERE id = 99")
        _ = try a.replica.position()
        try a.run("DROP TABLE syncd_extent")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT name FROM item WHERE id = 99") == [["A"]])
        #expect(try isCovered(a))
    }

    @Test("what a check of the record finds where they miss an object")
    func missing() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        #expect(try Store.checkRecord(a.path) != nil)
        try a.run("UPDATE syncd_extent SET place = 0 WHERE id = 1")
        #expect(throws: SyncError.self) { try Store.checkRecord(a.path) }
        #expect(try a.replica.mendExtents())
        #expect(try !a.replica.mendExtents())
        #expect(try Store.checkRecord(a.path) != nil)
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
    }

    @Test("the index of earlier versions goes wherever it is met, and not one of a user")
    func index() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        for table in ["syncd_object(place)", "item(name)"] {
            // Else the connection goes by the schema that it knows.
            _ = try a.rows("SELECT 1 FROM sqlite_schema")
            try a.run("CREATE INDEX syncd_object_place ON \(table)")
            try a.run("UPDATE item SET name = 'A' WHERE id = 1")
            try TestStore.sync(a, b)
        }
        #expect(
            try a.rows("SELECT tbl_name FROM sqlite_schema WHERE name = 'syncd_object_place'")
                == [["item"]])
    }

    /// By the lanes of what is written here and of what arrives, and by the general way.
    @Test("every way to write an object raises its extent", arguments: [true, false])
    func raised(usesLocalLane: Bool) throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: Self.schema, usesLocalLane: usesLocalLane)
        let steps = [
            "INSERT INTO item SELECT id + 100, name FROM item",
            "UPDATE item SET name = 'new' WHERE id % 40 = 1",
            "DELETE FROM item WHERE id % 50 = 7",
            "UPDATE item SET name = 'newer' WHERE id IN (1, 200)",
        ]
        for step in steps {
            try a.run(step)
            try b.run("UPDATE item SET name = name || '!' WHERE id % 64 = 2")
            try TestStore.sync(a, b)
            for store in [a, b] { #expect(try isCovered(store), "\(step)") }
            #expect(try a.dump() == b.dump(), "\(step)")
        }
    }

    @Test("few of the objects are read where few were written")
    func plan() throws {
        let folder = try TemporaryFolder()
        let (a, _) = try TestStore.pair(in: folder, schema: Self.schema)
        let steps = try a.rows("EXPLAIN QUERY PLAN " + ObjectExtents.select("uid, place"))
            .map { "\($0[3])" }
        #expect(steps.count == 2)
        #expect(steps.first?.contains("syncd_extent_place (place>?)") == true, "\(steps)")
        #expect(steps.last?.contains("PRIMARY KEY (rowid>? AND rowid<?)") == true, "\(steps)")
    }
}
