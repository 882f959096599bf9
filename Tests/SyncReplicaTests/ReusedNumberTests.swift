import Foundation
import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// SQLite gives the number of a deleted row again, when it was the greatest one: the row has it on
/// the other replicas, too.
@Suite("Merging: numbers that are used again")
struct ReusedNumberTests {
    private let folder: TemporaryFolder
    private let schema = """
        CREATE TABLE doc(id INTEGER PRIMARY KEY, text TEXT, code TEXT UNIQUE);
        CREATE TABLE line(id INTEGER PRIMARY KEY, doc REFERENCES doc ON DELETE CASCADE);
        INSERT INTO doc VALUES (1, 'first', 'a');
        """

    init() throws { folder = try TemporaryFolder() }

    /// By which lane the second replica merges, and whether it does so between the writes.
    @Test(
        "a row that is inserted after a delete has the same number",
        arguments: [false, true], [false, true])
    func numbers(usesLane: Bool, isSyncedBetween: Bool) throws {
        let a = try TestStore(folder.file("a.db"), schema: schema)
        var b = try a.copy(at: folder.file("b.db"))
        try b.replica.close()
        b = try TestStore(
            b.path,
            StoreReplica(b.path, wall: { Timestamp.now().milliseconds }, usesLane: usesLane))
        let steps = [
            "INSERT INTO doc VALUES (6, 'old', 'x'); INSERT INTO line VALUES (1, 6)",
            "DELETE FROM doc WHERE id = 6",
            "INSERT INTO doc VALUES (6, 'new', 'x')", "INSERT INTO line VALUES (1, 6)",
        ]
        for (place, step) in steps.enumerated() {
            try a.run(step)
            // Recorded, so that the two rows are two objects.
            _ = try a.replica.vector
            if isSyncedBetween || place == 0 { try b.pull(from: a) }
        }
        if usesLane, isSyncedBetween { #expect(b.replica.tally.laneObjects == 4) }
        try TestStore.sync(a, b)
        let clone = try a.copy(at: folder.file("c.db"))
        for store in [a, b, clone] {
            #expect(
                try store.rows("SELECT * FROM doc ORDER BY id")
                    == [[1, "first", "a"], [6, "new", "x"]])
            #expect(try store.rows("SELECT * FROM line") == [[1, 6]])
        }
        // Each object has one number, and each number one object.
        for store in [a, b, clone] {
            #expect(
                try store.rows(
                    """
                    SELECT shape, number, count(*) FROM syncd_object
                    WHERE number IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1
                    """
                ).isEmpty)
        }
        #expect(try b.kinds(of: "doc/6") == [.insert, .delete, .insert])
    }

    @Test("history says that a row was replaced by one with the same values")
    func sameValues() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: schema)
        try a.run("INSERT INTO doc VALUES (6, 'text', 'x')")
        try TestStore.sync(a, b)
        try a.run("DELETE FROM doc WHERE id = 6")
        _ = try a.replica.vector
        try a.run("INSERT INTO doc VALUES (6, 'text', 'x')")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT id, text FROM doc WHERE id > 1") == [[6, "text"]])
        #expect(try b.kinds(of: "doc/6") == [.insert, .delete, .insert])
        let former = try a.replica.names().first { $0.key.values == [6] }?.value
        let present = try b.replica.names().first { $0.key.values == [6] }?.value
        #expect(former == present)
    }

    @Test("a number that another row has here stays with it")
    func takenNumber() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: schema)
        try a.run("INSERT INTO doc VALUES (6, 'old', 'x')")
        try TestStore.sync(a, b)
        try a.run("DELETE FROM doc WHERE id = 6")
        try TestStore.sync(a, b)
        try b.run("INSERT INTO doc VALUES (6, 'b', NULL)")
        try a.run("INSERT INTO doc VALUES (6, 'a', NULL)")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT id, text FROM doc WHERE id > 1") == [[6, "a"], [7, "b"]])
        #expect(try b.rows("SELECT id, text FROM doc WHERE id > 1") == [[6, "b"], [7, "a"]])
    }

    @Test("a deleted row that is shown again gets another number where its own is used again")
    func revived() throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: schema.replacingOccurrences(of: "CASCADE", with: "RESTRICT"))
        try a.run("INSERT INTO doc VALUES (6, 'old', 'x')")
        try TestStore.sync(a, b)
        try a.run("DELETE FROM doc WHERE id = 6")
        _ = try a.replica.vector
        try a.run("INSERT INTO doc VALUES (6, 'new', 'y')")
        try b.run("INSERT INTO line VALUES (1, 6)")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT id, text FROM doc WHERE id > 1") == [[6, "new"], [7, "old"]])
        #expect(try b.rows("SELECT id, text FROM doc WHERE id > 1") == [[6, "old"], [7, "new"]])
        for store in [a, b] {
            let text = "SELECT text FROM line JOIN doc ON doc.id = line.doc"
            #expect(try store.rows(text) == [["old"]])
        }
    }

    @Test("with AUTOINCREMENT a number is not given again")
    func autoincrement() throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v)")
        try a.run("INSERT INTO t VALUES (6, 'old')")
        try TestStore.sync(a, b)
        try a.run("DELETE FROM t")
        _ = try a.replica.vector
        try a.run("INSERT INTO t VALUES (6, 'new')")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT * FROM t") == [[6, "new"]])
        #expect(try b.rows("SELECT * FROM t") == [[7, "new"]])
    }
}
