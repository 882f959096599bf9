import SyncMerge
import SyncTesting
import Testing

@testable import SyncReplica
@testable import SyncValues

/// Rows that merging cannot hide, and that hold a UNIQUE value of one that arrives.
@Suite("Row in the way")
struct RowInTheWayTests {
    @Test("a row without a key is named, and merging goes on once it has given way")
    func rowWithoutKey() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE one(k TEXT PRIMARY KEY, u UNIQUE, x TEXT)")
        try a.run("INSERT INTO one VALUES (NULL, 'same', 'here alone')")
        try b.run("INSERT INTO one VALUES ('k', 'same', 'there'), ('l', 'other', 'there')")
        let error = #expect(throws: SyncError.self) { try a.pull(from: b) }
        #expect(error?.code == .refused)
        #expect(error?.reason.contains("a row whose key is NULL") == true)
        #expect(error?.hint?.contains("give it one") == true)
        #expect(try a.rows("SELECT x FROM one") == [["here alone"]])
        try a.run("UPDATE one SET k = 'mine', u = 'mine' WHERE k IS NULL")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM one") == [[3]])
        #expect(try a.dump() == b.dump())
    }

    @Test("a constraint that merging does not know is told as such")
    func unknownConstraint() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE one(id INTEGER PRIMARY KEY, v TEXT);
                CREATE UNIQUE INDEX computed ON one(v || (id * 0));
                """)
        try a.run("INSERT INTO one VALUES (1, 'x')")
        try b.run("INSERT INTO one VALUES (2, 'x')")
        let error = #expect(throws: SyncError.self) { try a.pull(from: b) }
        #expect(error?.code == .refused)
        #expect(error?.reason.contains("of one cannot be written: UNIQUE") == true)
        #expect(try a.rows("SELECT id FROM one") == [[1]])
        try a.run("UPDATE one SET v = 'y'")
        try a.pull(from: b)
        #expect(try a.rows("SELECT count(*) FROM one") == [[2]])
    }
}
