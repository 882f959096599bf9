import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// A migration that allows more than before, on one replica after the other: what one writes in
/// between, the other one cannot show. It is shown when the other one has migrated, too, and is
/// nobody's delete.
@Suite("Merging: constraints that a migration loosens")
struct LoosenedConstraintTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A schema, the migration as SQL, what is written after it, and what all shall show.
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let schema: String
        let migration: String
        let write: String
        var query = "SELECT st, v FROM t ORDER BY v"
        let rows: [[Value]]

        var testDescription: String { name }
    }

    private static func rebuilt(_ columns: String) -> String {
        """
        PRAGMA foreign_keys = OFF; CREATE TABLE n(\(columns)); INSERT INTO n SELECT * FROM t;
        DROP TABLE t; ALTER TABLE n RENAME TO t; PRAGMA foreign_keys = ON
        """
    }

    static let cases: [Case] = [
        Case(
            name: "CHECK",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, st TEXT CHECK(st IN ('new', 'sent')), v TEXT);
                INSERT INTO t VALUES (1, 'new', 'a'), (2, 'sent', 'b')
                """,
            migration: rebuilt(
                "id INTEGER PRIMARY KEY, st TEXT CHECK(st IN ('new', 'sent', 'back')), v TEXT"),
            write: "UPDATE t SET st = 'back' WHERE id = 1; INSERT INTO t VALUES (3, 'back', 'c')",
            rows: [["back", "a"], ["sent", "b"], ["back", "c"]]),
        Case(
            name: "NOT NULL",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, st TEXT NOT NULL, v TEXT);
                INSERT INTO t VALUES (1, 'new', 'a'), (2, 'sent', 'b')
                """,
            migration: rebuilt("id INTEGER PRIMARY KEY, st TEXT, v TEXT"),
            write: "UPDATE t SET st = NULL WHERE id = 1; INSERT INTO t VALUES (3, NULL, 'c')",
            rows: [[.null, "a"], ["sent", "b"], [.null, "c"]]),
        Case(
            name: "STRICT",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, st INTEGER, v TEXT) STRICT;
                INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')
                """,
            migration: rebuilt("id INTEGER PRIMARY KEY, st INTEGER, v TEXT"),
            write: "UPDATE t SET st = 'one' WHERE id = 1; INSERT INTO t VALUES (3, 'three', 'c')",
            rows: [["one", "a"], [2, "b"], ["three", "c"]]),
        Case(
            name: "UNIQUE",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, st TEXT UNIQUE, v TEXT);
                INSERT INTO t VALUES (1, 'x', 'a'), (2, 'y', 'b')
                """,
            migration: rebuilt("id INTEGER PRIMARY KEY, st TEXT, v TEXT"),
            write: "UPDATE t SET st = 'x' WHERE id = 2; INSERT INTO t VALUES (3, 'x', 'c')",
            rows: [["x", "a"], ["x", "b"], ["x", "c"]]),
        Case(
            name: "a UNIQUE index",
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, st TEXT, v TEXT);
                CREATE UNIQUE INDEX ti ON t(st); INSERT INTO t VALUES (1, 'x', 'a'), (2, 'y', 'b')
                """,
            migration: "DROP INDEX ti", write: "INSERT INTO t VALUES (3, 'x', 'c')",
            rows: [["x", "a"], ["y", "b"], ["x", "c"]]),
    ]

    @Test("what one replica wrote is shown by the other when it has migrated", arguments: cases)
    func loosened(_ item: Case) throws {
        let (a, b) = try TestStore.pair(in: folder, schema: item.schema)
        try a.run(item.migration)
        try a.run(item.write)
        try TestStore.sync(a, b)
        #expect(try a.rows(item.query) == item.rows)
        #expect(try b.rows(item.query) != item.rows)
        #expect(try b.replica.conflicts().allSatisfy { !$0.wasDeleted })

        try b.run(item.migration)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows(item.query) == item.rows)
            #expect(try store.replica.conflicts() == [])
        }
    }

    @Test("so it is with synctool alter, which logs every row", arguments: cases)
    func altered(_ item: Case) throws {
        let (a, b) = try TestStore.pair(in: folder, schema: item.schema)
        _ = try Store.alter(a.path, running: item.migration)
        try a.run(item.write)
        try TestStore.sync(a, b)
        _ = try Store.alter(b.path, running: item.migration)
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows(item.query) == item.rows) }
    }

    @Test("what the other one wrote after its migration stays, too", arguments: cases)
    func written(_ item: Case) throws {
        let (a, b) = try TestStore.pair(in: folder, schema: item.schema)
        try a.run(item.migration)
        try a.run(item.write)
        try TestStore.sync(a, b)
        try b.run(item.migration)
        try b.run("INSERT INTO t(id, v) VALUES (77, 'z')")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows(item.query) == item.rows + [[.null, "z"]])
        }
    }
}
