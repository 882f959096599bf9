import SyncCore
import SyncTesting
import Testing

@testable import SyncReplica

/// A replica without the table that a column refers to, or without the foreign key, shows
/// references of others as NULL, or as the number that they have there. An edit of another column
/// leaves them what they are.
@Suite("References that lead to nothing here", .timeLimit(.minutes(2)))
struct ForgottenParentTests {
    /// What a replica does not have any more.
    enum Lack: String, CaseIterable {
        case table
        case foreignKey
        /// SQLite has the foreign key follow the renamed table, which is dropped then.
        case tableOfForeignKey

        func statements(_ type: String) -> String {
            switch self {
            case .table: "DROP TABLE p"
            case .tableOfForeignKey:
                """
                ALTER TABLE p RENAME TO p_old; CREATE TABLE p(id \(type) PRIMARY KEY, v TEXT, e);
                INSERT INTO p(id, v) SELECT id, v FROM p_old; DROP TABLE p_old
                """
            case .foreignKey:
                """
                CREATE TABLE n(k TEXT PRIMARY KEY, p \(type), v TEXT, w TEXT);
                INSERT INTO n SELECT * FROM d; DROP TABLE d; ALTER TABLE n RENAME TO d
                """
            }
        }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pair(_ type: String, action: String = "") throws -> (TestStore, TestStore) {
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(
            """
            CREATE TABLE p(id \(type) PRIMARY KEY, v TEXT);
            CREATE TABLE d(k TEXT PRIMARY KEY, p \(type) REFERENCES p(id) \(action), v TEXT, w TEXT);
            INSERT INTO p VALUES (1, 'one'); INSERT INTO d VALUES ('d1', 1, 'x', 'x')
            """)
        connection.close()
        try Store.track(path)
        let a = try TestStore(path, StoreReplica(path))
        return (a, try a.copy(at: folder.file("b.db")))
    }

    @Test("an edit of another column keeps them", arguments: ["INTEGER", "TEXT"], Lack.allCases)
    func editsOfOtherColumns(type: String, lack: Lack) throws {
        let (a, b) = try pair(type)
        // Without the table a number has another row of it than the one that the writer meant.
        try b.run("INSERT INTO p VALUES (2, 'of b')")
        try Store.alter(b.path, running: lack.statements(type))
        try a.run("INSERT INTO p VALUES (2, 'of a'); INSERT INTO d VALUES ('d2', 2, 'y', 'y')")
        try TestStore.sync(a, b)
        let parent = try a.rows("SELECT p FROM d WHERE k = 'd2'")
        let shown = try b.rows("SELECT p FROM d ORDER BY k")
        if lack != .table { #expect(shown.allSatisfy { $0 != [.null] }, "\(shown)") }
        try b.run("UPDATE d SET v = 'edited'")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT p FROM d ORDER BY k") == shown)
        #expect(try a.rows("SELECT p, v FROM d WHERE k = 'd2'") == [parent[0] + ["edited"]])
        #expect(try a.rows("SELECT p, v FROM d WHERE k = 'd1'").map { $0[1] } == ["edited"])
        #expect(try a.rows("SELECT p IS NULL FROM d") == [[0], [0]])
        // Several commits, and what is merged in between.
        try b.run("UPDATE d SET w = 'again' WHERE k = 'd2'")
        try a.run("UPDATE d SET v = 'a'")
        try TestStore.sync(a, b)
        try b.run("UPDATE d SET v = v || '!', w = w || '!'")
        try TestStore.sync(a, b)
        #expect(
            try a.rows("SELECT p, v, w FROM d WHERE k = 'd2'") == [parent[0] + ["a!", "again!"]])
        #expect(try b.rows("SELECT p FROM d ORDER BY k") == shown)
        // What is written is written.
        try b.run("PRAGMA foreign_keys = OFF; UPDATE d SET p = NULL WHERE k = 'd1'")
        try TestStore.sync(a, b)
        let isSeen = try b.rows("SELECT 1 FROM d WHERE k = 'd1' AND p IS NULL") == [[1]]
        let isChanged = shown[0] != [.null]
        #expect(isSeen)
        #expect(
            try a.rows("SELECT p IS NULL FROM d WHERE k = 'd1'") == [[isChanged ? 1 : 0]])
    }

    /// The column is one like others there: nothing forbids what the writer wrote into it.
    @Test(
        "without a foreign key the key of a deleted row is shown",
        arguments: ["INTEGER", "TEXT"], ["ON DELETE CASCADE", "ON DELETE SET NULL"])
    func deletedTarget(type: String, action: String) throws {
        let (a, b) = try pair(type, action: action)
        try Store.alter(a.path, running: Lack.foreignKey.statements(type))
        try a.run("DELETE FROM p")
        try b.run("INSERT INTO d VALUES ('late', '1', 'y', 'y')")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT CAST(p AS TEXT), v FROM d WHERE k = 'late'") == [["1", "y"]])
        try a.run("UPDATE d SET v = 'edited' WHERE k = 'late'")
        try TestStore.sync(a, b)
        try Store.alter(b.path, running: Lack.foreignKey.statements(type))
        try TestStore.sync(a, b)
        let late = "SELECT CAST(p AS TEXT), v FROM d WHERE k = 'late'"
        for store in [a, b] { #expect(try store.rows(late) == [["1", "edited"]]) }
        let rows = try a.rows("SELECT * FROM d ORDER BY k")
        #expect(try b.rows("SELECT * FROM d ORDER BY k") == rows)
    }

    /// A comparison with what was recorded does not know which columns a writer meant.
    @Test("what no trigger saw leaves them, too", arguments: Lack.allCases)
    func writesWithoutTriggers(lack: Lack) throws {
        let (a, b) = try pair("INTEGER")
        try Store.alter(b.path, running: lack.statements("INTEGER"))
        try a.run("INSERT INTO p VALUES (2, 'of a'); INSERT INTO d VALUES ('d2', 2, 'y', 'y')")
        try TestStore.sync(a, b)
        let parent = try a.rows("SELECT p FROM d WHERE k = 'd2'")
        let triggers = try b.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'd'")
        for case .text(let name) in triggers.map({ $0[0] }) {
            try b.run("DROP TRIGGER \"\(name)\"")
        }
        try b.run("UPDATE d SET v = 'unseen'")
        try Store.track(b.path)
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT p, v FROM d WHERE k = 'd2'") == [parent[0] + ["unseen"]])
    }

    @Test("a table that is not here yet keeps them, and shows them when it is")
    func tablesThatWait() throws {
        let (a, b) = try pair("INTEGER")
        try Store.alter(
            a.path,
            running: """
                CREATE TABLE q(id INTEGER PRIMARY KEY, v);
                ALTER TABLE d ADD COLUMN q INTEGER REFERENCES q(id)
                """)
        try Store.track(a.path, entities: .only(["q"]))
        try Store.alter(b.path, running: "ALTER TABLE d ADD COLUMN q INTEGER REFERENCES q(id)")
        try a.run("INSERT INTO q VALUES (5, 'q'); UPDATE d SET q = 5")
        try TestStore.sync(a, b)
        try b.run("UPDATE d SET v = 'edited'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT q, v FROM d") == [[5, "edited"]])
        try Store.alter(b.path, running: "CREATE TABLE q(id INTEGER PRIMARY KEY, v)")
        try Store.track(b.path, entities: .only(["q"]))
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT q.v, d.v FROM d JOIN q ON q.id = d.q") == [["q", "edited"]])
    }

    /// What a column that needs a value says of it, on every replica.
    enum Need: String, CaseIterable {
        case notNull = "k TEXT PRIMARY KEY, p TEXT NOT NULL REFERENCES p(id), v TEXT"
        case check = "k TEXT PRIMARY KEY, p TEXT REFERENCES p(id) CHECK (p IS NOT NULL), v TEXT"
        case key = "k TEXT, p TEXT REFERENCES p(id), v TEXT, PRIMARY KEY (k, p)"
        case strict = "k TEXT NOT NULL PRIMARY KEY, p TEXT NOT NULL REFERENCES p(id), v TEXT"
    }

    /// One table less must not stop the others.
    @Test(
        "a row that needs its reference is hidden until it leads to something",
        arguments: Need.allCases)
    func neededReferences(need: Need) throws {
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(
            """
            CREATE TABLE p(id TEXT PRIMARY KEY, v TEXT);
            CREATE TABLE d(\(need.rawValue)) \(need == .strict ? "STRICT" : "");
            CREATE TABLE other(k TEXT PRIMARY KEY, v TEXT);
            INSERT INTO p VALUES ('1', 'one'); INSERT INTO d VALUES ('d1', '1', 'x')
            """)
        connection.close()
        try Store.track(path)
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        try Store.alter(b.path, running: "DROP TABLE p")
        try a.run(
            """
            INSERT INTO p VALUES ('2', 'two'); INSERT INTO d VALUES ('d2', '2', 'y');
            INSERT INTO d VALUES ('d3', '1', 'z'); INSERT INTO other VALUES ('o', 'needed')
            """)
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT v FROM other") == [["needed"]])
        #expect(try b.rows("SELECT * FROM d") == [["d1", "1", "x"]])
        #expect(Set(try b.replica.conflicts().map(\.reason)) == [.hidden])
        // What is written here says nothing about it.
        try b.run("UPDATE d SET v = 'of b'; INSERT INTO other VALUES ('p', 'of b')")
        try TestStore.sync(a, b)
        try a.run("UPDATE d SET v = 'of a' WHERE k = 'd2'; DELETE FROM d WHERE k = 'd3'")
        try TestStore.sync(a, b)
        try TestStore.sync(a, b)
        let rows: [[Value]] = [["d1", "1", "of b"], ["d2", "2", "of a"]]
        #expect(try a.rows("SELECT * FROM d ORDER BY k") == rows)
        #expect(try a.replica.conflicts().isEmpty)
        #expect(try b.rows("SELECT * FROM d") == [rows[0]])
        // A row of that key written here is that row.
        try b.run("PRAGMA foreign_keys = OFF; INSERT INTO d VALUES ('d2', '9', 'own')")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT v FROM d ORDER BY k") == [["of b"], ["own"]])
        try b.run("DELETE FROM d WHERE k = 'd2'")
        try a.run("INSERT INTO d VALUES ('d4', '2', 'four')")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT k FROM d ORDER BY k") == [["d1"]])
        try Store.alter(b.path, running: "CREATE TABLE p(id TEXT PRIMARY KEY, v TEXT)")
        try Store.track(b.path, entities: .only(["p"]))
        try TestStore.sync(a, b)
        try TestStore.sync(a, b)
        let all = try a.rows("SELECT * FROM d ORDER BY k, p")
        #expect(try b.rows("SELECT * FROM d ORDER BY k, p") == all)
        #expect(all.contains(["d4", "2", "four"]))
    }
}
