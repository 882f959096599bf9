import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// What a new replica runs of the schema that a remote sends.
@Suite("The schema of a snapshot")
struct ReceivedSchemaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema =
        "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT); INSERT INTO note VALUES (1, 'one')"

    /// A snapshot of a store with one table, its schema changed.
    private func snapshot(
        _ change: (inout [String]) -> Void, entities: [String] = []
    ) throws -> [UInt8] {
        let store = try TestStore(folder.file("\(UUID()).db"), schema: Self.schema)
        let batches = try store.replica.batches(since: VersionVector())
        let whole = try #require(batches.first)
        var batch = try BatchDecoder.decode(whole)
        change(&batch.extras.schema)
        for name in entities {
            batch.entities.append(.init(name: name, isPrivate: false, cells: [["a"]]))
        }
        return try BatchEncoder.encode(batch)
    }

    /// Statements of a remote that wants more than tables of the store.
    private static let hostile = [
        "ATTACH DATABASE '%/loot.db' AS x",
        "CREATE TABLE x.t(a)",
        "CREATE TABLE temp.note2(a)",
        "CREATE TEMP TABLE other(a)",
        "CREATE TABLE other(a)",
        "CREATE TABLE other AS SELECT * FROM note",
        "CREATE TABLE other AS VALUES (1)",
        "CREATE TABLE syncd_remote(name TEXT PRIMARY KEY, url TEXT, options TEXT)",
        "CREATE VIRTUAL TABLE other USING fts5(x)",
        "CREATE VIEW other AS SELECT 1",
        "CREATE TRIGGER other AFTER INSERT ON note BEGIN DELETE FROM note; END",
        "CREATE TABLE other(a); ATTACH DATABASE '%/loot.db' AS x",
        "CREATE INDEX fine ON note(text); VACUUM INTO '%/loot.db'",
        "CREATE INDEX fine ON note(text); CREATE INDEX finer ON note(text, id)",
        "CREATE INDEX fine ON note(text); not SQL at all",
        "CREATE INDEX syncd_index ON note(text)",
        "CREATE INDEX fine ON note(load_extension(text))",
        "CREATE INDEX fine ON note(text) WHERE load_extension('x') IS NULL",
        "CREATE TABLE other(a DEFAULT (load_extension('x')))",
        "CREATE TABLE other(a, g AS (load_extension(a)))",
        "CREATE TABLE other(a CHECK (load_extension(a)))",
        "EXPLAIN CREATE INDEX fine ON note(text)",
        "CREATE INDEX fine ON other(a)",
        "INSERT INTO note VALUES (100, 'x')",
        "UPDATE note SET text = 'x'",
        "DELETE FROM note",
        "SELECT load_extension('x')",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "PRAGMA writable_schema = 1",
        "INSERT INTO sqlite_schema VALUES ('view', 'v', 'v', 0, 'CREATE VIEW v AS SELECT 1')",
        "DROP TABLE note",
        "ALTER TABLE note RENAME TO other",
        "VACUUM INTO '%/loot.db'",
        "COMMIT",
        "SAVEPOINT s",
        "REINDEX",
        "ANALYZE",
        "",
        "-- nothing",
        "CREATE INDEX fine ON note(text)\u{0}; DROP TABLE note",
    ]

    @Test("runs nothing but the tables and indexes of the store", arguments: hostile)
    func refusesAnythingElse(_ statement: String) throws {
        let secret = try TestStore(folder.file("secret.db"), schema: Self.schema)
        let sql = statement.replacing(
            "%", with: (secret.path as NSString).deletingLastPathComponent)
        let path = folder.file("clone.db")
        let bytes = try snapshot { $0.append(sql) }
        let error = try #require(throws: SyncError.self) {
            _ = try StoreReplica.create(at: path, from: bytes)
        }
        #expect(error.code == .badData, "\(error)")
        let left = try FileManager.default.contentsOfDirectory(
            atPath: (path as NSString).deletingLastPathComponent)
        #expect(!left.contains { $0.hasPrefix("clone.db") || $0.hasPrefix("loot") }, "\(left)")
    }

    @Test("reads and writes no other database")
    func readsNoOtherDatabase() throws {
        let secret = try TestStore(folder.file("secret.db"), schema: Self.schema)
        let bytes = try snapshot {
            $0 += [
                "ATTACH DATABASE '\(secret.path)' AS x",
                "INSERT INTO note SELECT 100 + id, text FROM x.note",
                "UPDATE x.note SET text = 'changed by the remote'",
            ]
        }
        #expect(throws: SyncError(.badData, "")) {
            _ = try StoreReplica.create(at: folder.file("clone.db"), from: bytes)
        }
        #expect(try secret.rows("SELECT text FROM note") == [["one"]])
    }

    @Test("makes no table of ours, also where the batch names it as an entity")
    func ownNames() throws {
        for name in ["syncd_remote", "SYNCD_Meta", "sqlite_stat1"] {
            let bytes = try snapshot({ $0.append("CREATE TABLE \(name)(a)") }, entities: [name])
            #expect(throws: SyncError(.badData, "")) {
                _ = try StoreReplica.create(at: folder.file("clone.db"), from: bytes)
            }
        }
    }

    @Test("an error shows the statement without its control characters")
    func escapes() throws {
        let bytes = try snapshot {
            $0.append("DROP TABLE \"\u{1B}]0;title\u{7}\u{202E}\r\n\"")
        }
        let error = try #require(throws: SyncError.self) {
            _ = try StoreReplica.create(at: folder.file("clone.db"), from: bytes)
        }
        #expect(error.reason.contains(#"\u{1b}]0;title\u{7}\u{202e}\u{d}\u{a}"#), "\(error.reason)")
        #expect(!error.description.contains("\u{1B}") && !error.description.contains("\u{202E}"))
    }

    /// Schemas that people have, each with a row.
    private static let legitimate = [
        """
        CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT DEFAULT (upper('x')) CHECK (length(b) > 0),
          c TEXT GENERATED ALWAYS AS (lower(b) || a) VIRTUAL, d TEXT AS (trim(b)) STORED);
        CREATE INDEX "t lower" ON t(lower(b));
        CREATE INDEX partial ON t(b) WHERE b IS NOT NULL AND length(b) > 2;
        INSERT INTO t(b) VALUES ('B')
        """,
        """
        CREATE TABLE t(a TEXT PRIMARY KEY COLLATE NOCASE, b REAL NOT NULL) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX u ON t(b DESC); INSERT INTO t VALUES ('a', 1.5)
        """,
        """
        CREATE TABLE "main.note ""x"";--"(/* one; two */ "a b" INTEGER PRIMARY KEY, -- a comment
          [c.d] TEXT UNIQUE, `e` DATETIME DEFAULT CURRENT_TIMESTAMP, f TEXT DEFAULT "x") -- the end;
        ; INSERT INTO "main.note ""x"";--"([c.d]) VALUES ('x')
        """,
        """
        CREATE TABLE "syncdlike"(a INTEGER PRIMARY KEY, "order" JSON CHECK (json_valid("order")));
        CREATE TABLE b(id INTEGER PRIMARY KEY, a REFERENCES syncdlike ON DELETE CASCADE,
          at TEXT DEFAULT (strftime('%Y', 'now')), r DEFAULT (random()), UNIQUE (a, at));
        CREATE INDEX b_expr ON b(coalesce(a, -1), substr(at, 1, 2));
        INSERT INTO syncdlike VALUES (1, '{}'); INSERT INTO b(a) VALUES (1)
        """,
    ]

    @Test("schemas that people have arrive as they are", arguments: legitimate)
    func keepsSchemas(_ schema: String) throws {
        let store = try TestStore(folder.file("a.db"), schema: schema)
        let batches = try store.replica.batches(since: VersionVector())
        let batch = try #require(batches.first)
        let path = folder.file("b.db")
        let copy = try TestStore(path, StoreReplica.create(at: path, from: batch))
        let select = """
            SELECT type, name, tbl_name, sql FROM sqlite_schema
            WHERE tbl_name NOT LIKE 'syncd\\_%' ESCAPE '\\' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'
            ORDER BY 1, 2
            """
        #expect(try copy.rows(select) == store.rows(select))
        let tables = try store.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'"
                + " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        for case .text(let name) in tables.map({ $0[0] }) {
            let rows = "SELECT * FROM \(SQLName.quoted(name)) ORDER BY 1"
            #expect(try copy.rows(rows) == store.rows(rows))
            #expect(try store.rows(rows).count == 1)
        }
    }
}
