import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A new replica is a copy of the store: not only of its tracked rows.
@Suite("A clone is a copy")
struct FeatureCopyTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        PRAGMA page_size = 8192; PRAGMA auto_vacuum = 1; PRAGMA encoding = 'UTF-16le';
        CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, body TEXT, gone TEXT);
        CREATE TABLE place(id INTEGER PRIMARY KEY, x REAL, y REAL);
        CREATE TABLE audit(what TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
        CREATE UNIQUE INDEX live ON note(title) WHERE gone IS NULL;
        CREATE VIRTUAL TABLE note_fts USING fts5(title, body, content='note', content_rowid='id');
        CREATE VIRTUAL TABLE words USING fts4(body);
        CREATE VIRTUAL TABLE area USING rtree(id, x1, x2, y1, y2);
        CREATE VIEW shortest AS SELECT * FROM recent ORDER BY length(title) LIMIT 1;
        CREATE VIEW recent AS SELECT id, title FROM note WHERE gone IS NULL ORDER BY id DESC;
        CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
          INSERT INTO note_fts(rowid, title, body) VALUES (new.id, new.title, new.body); END;
        CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
          INSERT INTO note_fts(note_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body); END;
        CREATE TRIGGER words_ai AFTER INSERT ON note BEGIN
          INSERT INTO words(docid, body) VALUES (new.id, new.body); END;
        CREATE TRIGGER area_ai AFTER INSERT ON place BEGIN
          INSERT INTO area VALUES (new.id, new.x, new.x, new.y, new.y); END;
        CREATE TRIGGER log_i AFTER INSERT ON note BEGIN INSERT INTO audit(what) VALUES (new.title); END;
        CREATE TRIGGER check_i BEFORE INSERT ON note WHEN new.title = '' BEGIN SELECT RAISE(ABORT, 'empty'); END;
        PRAGMA user_version = 7; PRAGMA application_id = 4711;
        INSERT INTO note(title, body) VALUES ('one', 'apple'), ('two', 'pear'), ('last', 'plum');
        DELETE FROM note WHERE title = 'last';
        INSERT INTO place VALUES (1, 2.0, 3.0);
        """

    /// The statements of a database, in any order.
    static func statements(_ store: TestStore) throws -> Set<String> {
        Set(
            try store.rows(
                """
                SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
                  AND tbl_name NOT LIKE 'syncd\\_%' ESCAPE '\\' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'
                """
            ).map { "\($0[0])" })
    }

    private func store(_ name: String, _ schema: String) throws -> TestStore {
        let store = try TestStore(folder.file(name), schema: schema)
        try store.replica.startSigning()
        return store
    }

    private func clone(_ store: TestStore, _ name: String) throws -> TestStore {
        let path = folder.file(name)
        return try TestStore(path, StoreReplica.clone(at: path, from: store.replica.export()))
    }

    @Test("it has the schema, the settings of the file and the content of the indexes")
    func copiesEverything() throws {
        let a = try store("a.db", Self.schema)
        let b = try clone(a, "b.db")
        #expect(try Self.statements(b) == Self.statements(a))
        for pragma in ["user_version", "application_id", "page_size", "auto_vacuum", "encoding"] {
            #expect(try b.rows("PRAGMA \(pragma)") == a.rows("PRAGMA \(pragma)"), "\(pragma)")
        }
        for query in [
            "SELECT rowid FROM note_fts WHERE note_fts MATCH 'apple'",
            "SELECT docid FROM words WHERE words MATCH 'pear'", "SELECT id, x1 FROM area",
            "SELECT * FROM shortest", "SELECT * FROM recent",
            "SELECT seq FROM sqlite_sequence WHERE name = 'note'",
        ] {
            #expect(try b.rows(query) == a.rows(query), "\(query)")
            #expect(try !b.rows(query).isEmpty, "\(query)")
        }
        try b.run("INSERT INTO note_fts(note_fts) VALUES ('integrity-check')")
        // The rows of an untracked table are not synchronised, and old rows make no new ones in it.
        #expect(try a.rows("SELECT count(*) FROM audit") == [[3]])
        #expect(try b.rows("SELECT count(*) FROM audit") == [[0]])
    }

    /// Indexes that cannot be filled, each with a reason of its own, and what needs them.
    private static let unfillable = """
        CREATE TABLE post(id INTEGER PRIMARY KEY, parent INT, body TEXT);
        CREATE VIEW thread AS WITH RECURSIVE r(id, body) AS (
          SELECT id, body FROM post WHERE parent IS NULL
          UNION ALL SELECT p.id, p.body FROM post p JOIN r ON p.parent = r.id)
          SELECT id, body FROM r;
        CREATE VIRTUAL TABLE search USING fts5(body, content='thread', content_rowid='id');
        CREATE VIRTUAL TABLE lost USING fts5(body, content='gone');
        CREATE VIRTUAL TABLE other USING fts5(nope, content='post', content_rowid='id');
        CREATE VIRTUAL TABLE fourth USING fts4(body, content='gone');
        CREATE TRIGGER lost_i AFTER INSERT ON post BEGIN
          INSERT INTO lost(rowid, body) VALUES (new.id, new.body); END;
        CREATE VIEW found AS SELECT rowid FROM search;
        """

    @Test("an index that cannot be filled is not made, and the rest is")
    func unfillableIndexes() throws {
        let row = "INSERT INTO post VALUES (1, NULL, 'hello');"
        let a = try store("a.db", Self.unfillable + row)
        let missing: Set = ["thread", "search", "lost", "other", "fourth", "lost_i", "found"]
        let b = folder.file("b.db")
        try StoreReplica.create(at: b, from: try #require(a.replica.export().first)).close()
        let refused = try StoreReplica.completeCopy(at: b).refused
        #expect(Set(refused.map(\.name)) == missing)
        #expect(refused.filter(\.needsConsent).map(\.name) == ["thread"])
        let reason = refused.first { $0.name == "lost" }?.reason
        #expect(reason == "it cannot be filled: no such table: gone")
        let copy = try TestStore(b, StoreReplica(b))
        #expect(try copy.rows("SELECT body FROM post") == [["hello"]])
        try copy.run("INSERT INTO post VALUES (2, 1, 'again')")
        // With consent there is the view, and so what needs it.
        let c = folder.file("c.db")
        try StoreReplica.create(at: c, from: try #require(a.replica.export().first)).close()
        let rest = try StoreReplica.completeCopy(at: c, consent: { _ in }).refused
        #expect(Set(rest.map(\.name)) == ["lost", "other", "fourth", "lost_i"])
        let full = try TestStore(c, StoreReplica(c))
        #expect(try full.rows("SELECT rowid FROM search WHERE search MATCH 'hello'") == [[1]])
    }

    @Test("an index over a value that takes long to index is not made")
    func endlessIndex() throws {
        let a = try store(
            "a.db",
            """
            CREATE TABLE post(id INTEGER PRIMARY KEY, body TEXT);
            CREATE VIEW large AS SELECT id, zeroblob(900000000) AS body FROM post;
            CREATE VIRTUAL TABLE search USING fts5(body, content='large', content_rowid='id');
            INSERT INTO post VALUES (1, 'hello');
            """)
        let b = folder.file("b.db")
        try StoreReplica.create(at: b, from: try #require(a.replica.export().first)).close()
        let refused = try StoreReplica.completeCopy(at: b).refused
        #expect(refused.map(\.name) == ["search"])
        #expect(refused.first?.reason.contains("cannot be filled") == true, "\(refused)")
        let copy = try TestStore(b, StoreReplica(b))
        #expect(try copy.rows("SELECT id FROM large") == [[1]])
    }

    @Test("changes are applied without an index that cannot be filled, and a column that fails")
    func appliesWithoutWhatFails() throws {
        let a = try store(
            "a.db",
            "CREATE TABLE note(id INTEGER PRIMARY KEY, n INT); INSERT INTO note VALUES (1, 1)")
        let b = try clone(a, "b.db")
        try Store.alter(
            a.path,
            running: """
                CREATE VIRTUAL TABLE lost USING fts5(body, content='gone');
                ALTER TABLE note ADD COLUMN small INT DEFAULT 0 CHECK (n < 5);
                CREATE TABLE extra(id INTEGER PRIMARY KEY)
                """)
        try Store.track(a.path, entities: .only(["note", "extra"]))
        try b.pull(from: a)
        try b.run("UPDATE note SET n = 9")
        let comparison = try #require(try b.replica.compareSchema())
        #expect(comparison.refused.map(\.name) == ["lost"])
        let failed = try StoreReplica.applySchema(comparison, at: b.path)
        #expect(failed.map(\.name) == ["note.small"] && failed.map(\.kind) == ["column"])
        #expect(try b.rows("SELECT count(*) FROM extra") == [[0]])
    }

    @Test("its triggers work, and both sides stay equal")
    func triggersWork() throws {
        let a = try store("a.db", Self.schema)
        let b = try clone(a, "b.db")
        #expect(throws: (any Error).self) { try b.run("INSERT INTO note(title) VALUES ('')") }
        try b.run(
            "INSERT INTO note(title, body) VALUES ('from b', 'cherry'); DELETE FROM note WHERE id = 1"
        )
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT title FROM note ORDER BY 1") == [["from b"], ["two"]])
            #expect(
                try store.rows("SELECT count(*) FROM note_fts WHERE note_fts MATCH 'cherry'") == [
                    [1]
                ])
            #expect(
                try store.rows("SELECT count(*) FROM note_fts WHERE note_fts MATCH 'apple'") == [
                    [0]
                ])
        }
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
    }

    @Test("it has the schema of now, at every moment of a migration")
    func hasTheSchemaOfNow() throws {
        let a = try store(
            "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')")
        var sent = try a.replica.batches(since: VersionVector())
        for (number, sql) in [
            "ALTER TABLE t ADD COLUMN w TEXT", "CREATE INDEX ti ON t(w)",
            "CREATE TABLE n(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id))",
            "CREATE VIEW vv AS SELECT * FROM t",
            "DROP VIEW vv; CREATE VIEW vv AS SELECT w FROM t; PRAGMA user_version = 5",
        ].enumerated() {
            try Store.alter(a.path, running: sql)
            try a.run("UPDATE t SET v = 'v\(number)'")
            let vector = try BatchDecoder.decode(try #require(sent.last)).upTo
            sent += try a.replica.batches(since: vector)
            let path = folder.file("c\(number).db")
            let c = try TestStore(path, StoreReplica.clone(at: path, from: sent))
            #expect(try Self.statements(c) == Self.statements(a), "\(sql)")
            #expect(try c.dump() == a.dump(), "\(sql)")
            #expect(try c.replica.waiting.isEmpty, "\(sql)")
        }
    }

    @Test("a store that began without a table can be cloned from its first snapshot")
    func beginsWithoutATable() throws {
        let a = try store("a.db", "CREATE VIEW one AS SELECT 1 AS one")
        var sent = try a.replica.batches(since: VersionVector())
        let empty = folder.file("empty.db")
        let first = try TestStore(empty, StoreReplica.clone(at: empty, from: sent))
        #expect(try Self.statements(first) == Self.statements(a))
        try a.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')")
        try Store.track(a.path)
        sent += try a.replica.batches(since: try BatchDecoder.decode(sent[0]).upTo)
        let path = folder.file("b.db")
        let b = try TestStore(path, StoreReplica.clone(at: path, from: sent))
        #expect(try b.rows("SELECT * FROM t") == [[1, "a"]])
        #expect(try Self.statements(b) == Self.statements(a))
    }

    @Test("what is not made is named, stays part of the schema, and is made with consent")
    func namesWhatIsNotMade() throws {
        let a = try store(
            "a.db",
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY, posts INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE post(id INTEGER PRIMARY KEY, u INTEGER REFERENCES u(id));
            CREATE TRIGGER counts AFTER INSERT ON post BEGIN
              UPDATE u SET posts = posts + 1 WHERE id = new.u; END;
            INSERT INTO u(id) VALUES (1); INSERT INTO post(u) VALUES (1)
            """)
        let path = folder.file("b.db")
        try StoreReplica.create(at: path, from: try #require(a.replica.export().first)).close()
        let refused = try StoreReplica.completeCopy(at: path).refused
        #expect(refused.map(\.name) == ["counts"] && refused.allSatisfy(\.needsConsent))
        let b = try TestStore(path, StoreReplica(path))
        // A change of the new replica takes nothing of the store's schema back.
        try b.run("CREATE INDEX pu ON post(u)")
        try TestStore.sync(a, b)
        let c = folder.file("c.db")
        try StoreReplica.create(at: c, from: try #require(b.replica.export().first)).close()
        var shown: [String] = []
        #expect(try StoreReplica.completeCopy(at: c) { shown = $0.map(\.sql) }.refused.isEmpty)
        #expect(shown.count == 1 && shown[0].contains("posts + 1"))
        let copy = try TestStore(c, StoreReplica(c))
        #expect(
            try Self.statements(copy) == Self.statements(a).union(["'CREATE INDEX pu ON post(u)'"]))
    }

    @Test("a store that does not sign sends its tables and indexes of now")
    func unsigned() throws {
        let a = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
        let sent = try a.replica.batches(since: VersionVector())
        try Store.alter(a.path, running: "ALTER TABLE t ADD COLUMN w; CREATE INDEX i ON t(w)")
        try a.run("INSERT INTO t VALUES (1, 'a', 'b')")
        let next = try #require(
            try a.replica.batches(since: BatchDecoder.decode(sent[0]).upTo).first)
        let stated = try BatchDecoder.decode(next).statedSchemas
        #expect(stated.map { $0.content.objects.map(\.name) } == [["t", "i"]])
        let path = folder.file("b.db")
        let b = try StoreReplica.create(at: path, from: sent[0], schemas: stated)
        #expect(try b.merge(next))
        try b.close()
        let copied = try StoreReplica.completeCopy(at: path)
        #expect(copied.refused.isEmpty && !copied.isSchemaKnown, "what else there is, is unknown")
        let copy = try TestStore(path, StoreReplica(path))
        #expect(try copy.dump() == a.dump() && Self.statements(copy) == Self.statements(a))
    }

    @Test("a store states its schema also when policies are chosen before anything else")
    func policiesFirst() throws {
        let a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE log(v);
                CREATE VIEW w AS SELECT v FROM t; INSERT INTO t VALUES (1, 'a')
                """)
        try a.replica.setPolicies(MergePolicies(entities: ["t": .init(deletes: .editWins)]))
        try a.replica.startSigning()
        let path = folder.file("b.db")
        let b = try TestStore(path, StoreReplica.clone(at: path, from: a.replica.export()))
        #expect(try StoreReplica.completeCopy(at: path).isSchemaKnown)
        #expect(try Self.statements(b) == Self.statements(a))
    }
}
