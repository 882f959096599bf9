import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// The failures that other systems are known for, each by its name.
@Suite("Failures that others have")
struct NamedFailureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE, note TEXT);
        CREATE TABLE child(id INTEGER PRIMARY KEY, text TEXT,
          parent INTEGER NOT NULL REFERENCES parent(id) ON DELETE CASCADE);
        CREATE TABLE setting(name TEXT PRIMARY KEY, value);
        INSERT INTO parent VALUES (1, 'one', NULL), (2, 'two', NULL);
        INSERT INTO child VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2);
        INSERT INTO setting VALUES ('colour', 'red');
        """

    private func twoReplicas() throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        return (a, try TestStore(folder.file("b.db"), copy))
    }

    @Test("delete and re-insert in one transaction is a row that is there")
    func deleteAndReinsert() throws {
        let (a, b) = try twoReplicas()
        try a.run(
            """
            BEGIN; DELETE FROM setting WHERE name = 'colour';
            INSERT INTO setting VALUES ('colour', 'blue'); COMMIT
            """)
        try b.run("UPDATE setting SET value = 'green'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM setting") == [["colour", "blue"]])
            #expect(try store.replica.conflicts().map(\.reason) == [.olderIncarnation])
        }
    }

    @Test("a child may be written before its parent")
    func childBeforeParent() throws {
        let (a, b) = try twoReplicas()
        try a.run(
            """
            PRAGMA foreign_keys = OFF; BEGIN; INSERT INTO child VALUES (10, 'early', 9);
            INSERT INTO parent VALUES (9, 'late', NULL); COMMIT; PRAGMA foreign_keys = ON
            """)
        try TestStore.sync(a, b)
        let rows =
            "SELECT child.text, name FROM child JOIN parent ON parent.id = parent WHERE text = 'early'"
        #expect(try b.rows(rows) == [["early", "late"]])
        #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
    }

    @Test("REPLACE on a parent takes no children along on other replicas")
    func replaceOnAParent() throws {
        let (a, b) = try twoReplicas()
        try a.run("PRAGMA foreign_keys = OFF")
        try a.run("INSERT OR REPLACE INTO parent VALUES (1, 'one', 'replaced')")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT note FROM parent WHERE id = 1") == [["replaced"]])
        #expect(try b.rows("SELECT count(*) FROM child") == [[3]])
        #expect(try a.dump() == b.dump())
    }

    @Test("a batch that nobody could deliver deletes nothing")
    func failedUpload() throws {
        let (a, b) = try twoReplicas()
        try a.run("INSERT INTO parent VALUES (3, 'three', NULL)")
        _ = try a.replica.batches(since: b.replica.vector)  // made, and lost on the way
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT count(*) FROM parent") == [[3]])
        }
    }

    @Test("a clock five years ahead stops nobody, and does not win permanently")
    func clockInTheFuture() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let future = Timestamp.now().milliseconds + 157_680_000_000
        let replica = try StoreReplica.create(
            at: folder.file("b.db"), from: snapshot[0], wall: { future })
        let b = try TestStore(folder.file("b.db"), replica)
        try b.run("UPDATE setting SET value = 'from the future'")
        try b.run("UPDATE syncd_log SET ts = ts + 1825 WHERE op > 0")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT value FROM setting") == [["from the future"]])
        try a.run("UPDATE setting SET value = 'now'")  // has seen the other
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows("SELECT value FROM setting") == [["now"]]) }
        try a.run("INSERT INTO parent VALUES (7, 'written', NULL)")
        #expect(try a.rows("SELECT count(*) FROM parent") == [[3]])
    }

    @Test("a column that only one side has is no error, and arrives after the migration")
    func unknownColumn() throws {
        let (a, b) = try twoReplicas()
        _ = try Store.alter(a.path, running: "ALTER TABLE parent ADD COLUMN rank INTEGER DEFAULT 5")
        try a.run("UPDATE parent SET rank = 1, note = 'ranked' WHERE id = 1")
        try a.run("INSERT INTO parent VALUES (4, 'four', 'n', 9)")
        try b.run("INSERT INTO parent VALUES (5, 'five', 'm')")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT note FROM parent WHERE id = 1") == [["ranked"]])
        #expect(try b.rows("SELECT name FROM parent WHERE id = 4") == [["four"]])
        #expect(try a.rows("SELECT rank FROM parent WHERE name = 'five'") == [[5]])
        _ = try Store.alter(b.path, running: "ALTER TABLE parent ADD COLUMN rank INTEGER DEFAULT 5")
        try TestStore.sync(a, b)
        #expect(
            try b.rows("SELECT id, rank FROM parent ORDER BY id") == [
                [1, 1], [2, 5], [4, 9], [5, 5],
            ])
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
    }

    @Test("many changes are merged while a writer writes", .timeLimit(.minutes(15)))
    func mergeWhileAWriterWrites() async throws {
        let (a, b) = try twoReplicas()
        let count = 5_000
        try a.run(
            """
            BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO child(text, parent) SELECT 'row ' || i, 1 + i % 2 FROM n; COMMIT
            """)
        let writer = Task.detached {
            var written = 0
            while written < 1 || (!Task.isCancelled && written < 2000) {
                try b.run("INSERT INTO setting VALUES ('s\(written)', \(written))")
                written += 1
                try? await Task.sleep(for: .milliseconds(1))
            }
            return written
        }
        try b.pull(from: a)
        writer.cancel()
        let written = try await writer.value
        #expect(written > 0)
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT count(*) FROM child") == [[.integer(Int64(count + 3))]])
        #expect(try a.dump() == b.dump())
    }
}
