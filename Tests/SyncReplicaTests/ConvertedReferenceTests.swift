import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// A column of any type may refer to an INTEGER PRIMARY KEY: SQLite compares by the type of the key.
@Suite("Merging: references that hold numbers as another type")
struct ConvertedReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let names = """
        SELECT pass.x, person.name FROM pass JOIN person ON person.id = pass.p ORDER BY pass.x
        """

    private func pair(_ type: String, rows: String = "") throws -> (TestStore, TestStore) {
        try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p \(type) REFERENCES person, x TEXT);
                \(rows)
                """)
    }

    @Test(
        "they follow the row when it gets another number",
        arguments: [
            "TEXT", "VARCHAR(9) UNIQUE", "NUMERIC", "BLOB", "", "TEXT NOT NULL",
        ])
    func renumbered(type: String) throws {
        let (a, b) = try pair(type)
        try a.run(
            "INSERT INTO person VALUES (1, 'Ann'), (2, 'Art'); INSERT INTO pass VALUES (1, 1, 'a')")
        try b.run(
            "INSERT INTO person VALUES (1, 'Bea'), (2, 'Bob'); INSERT INTO pass VALUES (1, 2, 'b')")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows(Self.names) == [["a", "Ann"], ["b", "Bob"]])
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
        // What was merged is edited, and follows again.
        try b.run("UPDATE pass SET p = (SELECT id FROM person WHERE name = 'Art') WHERE x = 'b'")
        try a.run("UPDATE pass SET x = 'c' WHERE x = 'a'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows(Self.names) == [["b", "Art"], ["c", "Ann"]])
        }
        #expect(try a.replica.conflicts().isEmpty && b.replica.conflicts().isEmpty)
    }

    @Test("rows from before the first statement refer, too")
    func firstStatement() throws {
        let (a, b) = try pair(
            "TEXT",
            rows: "INSERT INTO person VALUES (1, 'Eva'); INSERT INTO pass VALUES (1, 1, 'e')")
        try TestStore.sync(a, b)
        try a.run("DELETE FROM pass; DELETE FROM person")
        try b.run("UPDATE pass SET x = 'kept'")
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.rows("PRAGMA foreign_key_check").isEmpty) }
        #expect(try a.rows(Self.names) == b.rows(Self.names))
    }

    @Test("text in another form than the number's own is a value, and stays as it is")
    func otherForms() throws {
        let (a, b) = try pair("TEXT")
        try a.run("INSERT INTO person VALUES (7, 'Eva'); INSERT INTO pass VALUES (1, '07', 'e')")
        try TestStore.sync(a, b)
        try b.run("UPDATE pass SET x = 'f'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT p, x FROM pass") == [["07", "f"]])
        }
    }
}
