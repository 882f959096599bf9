import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// Stores whose schema calls a function, or uses a collation, that only an application has: what
/// nobody else can write stays out, and everything else is as without it.
@Suite("Functions and collations of applications", .timeLimit(.minutes(5)))
struct ApplicationFunctionTests {
    private let folder: TemporaryFolder
    private let a: TestStore
    private let path: String

    /// SQLite's own functions are replaced in the text of the schema, as if they were others.
    init() throws {
        folder = try TemporaryFolder()
        a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE plain(id TEXT PRIMARY KEY, v);
                CREATE TABLE checked(id INTEGER PRIMARY KEY, t TEXT CHECK (lower(t) <> 'x'));
                CREATE TABLE computed(id INTEGER PRIMARY KEY, t TEXT,
                  g TEXT AS (lower(t)) VIRTUAL);
                CREATE TABLE sorted(id INTEGER PRIMARY KEY, t TEXT COLLATE RTRIM);
                CREATE TABLE indexed(id INTEGER PRIMARY KEY, t TEXT);
                CREATE INDEX by_title ON indexed(lower(t));
                INSERT INTO plain VALUES ('p', 1);
                INSERT INTO checked VALUES (1, 'one');
                INSERT INTO computed(id, t) VALUES (1, 'one');
                INSERT INTO sorted VALUES (1, 'one');
                INSERT INTO indexed VALUES (1, 'one');
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql =
                  replace(replace(sql, 'lower(', 'title_sort('), 'RTRIM', 'unicase')
                WHERE name IN ('checked', 'computed', 'sorted', 'by_title');
                PRAGMA writable_schema = RESET
                """)
        path = folder.file("b.db")
    }

    @Test("a clone has what can be made, and names the rest")
    func isCloned() throws {
        try a.replica.startSigning()
        let snapshot = try a.replica.batches(since: VersionVector())
        try StoreReplica.create(at: path, from: snapshot[0]).close()
        let copy = try StoreReplica.completeCopy(at: path, consent: nil)
        let refused = copy.refused.map { "\($0.kind) \($0.name): \($0.reason)" }.sorted()
        #expect(
            refused == [
                "index by_title: no such function: title_sort",
                "table checked: no such function: title_sort",
                "table computed: no such function: title_sort",
                "table sorted: no such collation sequence: unicase",
            ])
        let b = try TestStore(path, StoreReplica(path))
        #expect(try b.rows("SELECT * FROM plain") == [["p", 1]])
        #expect(try b.rows("SELECT * FROM indexed") == [[1, "one"]])
        #expect(
            try b.replica.waiting.map { "\($0.entity) \($0.reason)" }.sorted() == [
                "checked noTable", "computed noTable", "sorted noTable",
            ])
        try b.run("UPDATE plain SET v = 2")
        try a.run("INSERT INTO plain VALUES ('q', 3)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM plain ORDER BY 1") == [["p", 2], ["q", 3]])
        }
    }

    @Test("where no replica states its schema, nothing could name what is left out")
    func isRefused() throws {
        let error = #expect(throws: SyncError.self) { try a.copy(at: path) }
        #expect(error?.hint?.contains("synctool upgrade") == true)
    }

    @Test("the tables that cannot be written for it are named before a row comes")
    func isNamed() throws {
        let named = try UnwritableTable.all(a.path).map { "\($0.name): \($0.reason)" }
        #expect(
            named == [
                "checked: no such function: title_sort",
                "computed: unknown function: title_sort()",
                "indexed: unknown function: title_sort()",
            ])
        #expect(try a.replica.unsyncedRows().map(\.table) == ["checked", "computed", "indexed"])
    }

    @Test("a row that cannot be written for it is an error that says what to do")
    func isExplained() throws {
        try a.replica.startSigning()
        let b = try a.copy(at: path)
        try b.run("UPDATE indexed SET t = 'two'")
        let error = #expect(throws: SyncError.self) { try TestStore.sync(a, b) }
        #expect(error?.reason.contains("title_sort") == true, "\(String(describing: error))")
        #expect(error?.hint?.contains("synctool alter") == true)
        try a.run("DROP INDEX by_title")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT t FROM indexed") == [["two"]])
    }
}
