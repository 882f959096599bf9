import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// References in a UNIQUE that tells apart what the key calls equal: most users say COLLATE NOCASE
/// where they declare the key, and not again where they refer to it.
@Suite("Merging: references that only one spelling is")
struct ExactReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        PRAGMA foreign_keys = ON;
        CREATE TABLE k(code TEXT PRIMARY KEY COLLATE NOCASE, v TEXT);
        CREATE TABLE t(code TEXT PRIMARY KEY COLLATE NOCASE REFERENCES k, v TEXT);
        CREATE TABLE m(code TEXT REFERENCES k, n INTEGER, v TEXT, PRIMARY KEY(code, n));
        CREATE TABLE below(code TEXT REFERENCES t, n INTEGER, v TEXT, PRIMARY KEY(code, n));
        INSERT INTO k VALUES ('k1', 'x'); INSERT INTO t VALUES ('k1', 'x');
        INSERT INTO m VALUES ('k1', 1, 'x'); INSERT INTO below VALUES ('k1', 1, 'x');
        """

    private func expectEqual(_ a: TestStore, _ b: TestStore) throws {
        for (table, key) in [("k", "1"), ("t", "1"), ("m", "1, 2"), ("below", "1, 2")] {
            let rows = "SELECT * FROM \(table) ORDER BY \(key)"
            #expect(try a.rows(rows) == b.rows(rows), "\(table)")
        }
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }

    @Test("a row is spelled as its key is, where another one has its former spelling as text")
    func formerSpelling() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.replica.setPolicies(MergePolicies(entities: ["m": .init(deletes: .editWins)]))
        try TestStore.sync(a, b)
        try a.run("UPDATE m SET v = 'a'")
        try b.run("UPDATE k SET code = 'K1'; DELETE FROM m")
        _ = try b.replica.vector
        try b.run("INSERT INTO m VALUES ('k1', 1, 'b')")
        try TestStore.sync(a, b)
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        #expect(
            try a.rows("SELECT code, v FROM m ORDER BY code") == [["K1", "a"], ["k1", "b"]])
    }

    @Test("rows that a chain of references spells in two ways stay two rows")
    func chain() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run("UPDATE k SET code = 'K1'; INSERT INTO below VALUES ('K1', 1, 'y')")
        let rows = try a.rows("SELECT * FROM below ORDER BY code")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT * FROM below ORDER BY code") == rows)
        try expectEqual(a, b)
        try b.run("UPDATE below SET v = 'z' WHERE code = 'k1'; UPDATE t SET v = 'z'")
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        #expect(try a.rows("SELECT v FROM below ORDER BY code") == [["y"], ["z"]])
    }

    @Test("rows with another spelling are named, because they are no references to other replicas")
    func named() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        #expect(try a.replica.unsyncedRows().isEmpty)
        try a.run("INSERT INTO m VALUES ('K1', 1, 'y'), ('K1', 2, 'y'), ('k1', 2, 'y')")
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        for store in [a, b] {
            #expect(
                try store.replica.unsyncedRows() == [
                    UnsyncedRows(
                        table: "m", count: 2, reason: .respelled(column: "code", parent: "k"))
                ])
        }
    }
}
