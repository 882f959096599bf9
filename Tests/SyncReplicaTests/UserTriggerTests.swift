import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// What the user's own triggers do while a merge writes.
@Suite("The user's triggers and merging", .timeLimit(.minutes(15)))
struct UserTriggerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT UNIQUE, body TEXT, edits INT DEFAULT 0);
        CREATE TABLE line(id TEXT PRIMARY KEY, note INTEGER REFERENCES note(id) ON DELETE CASCADE);
        """
    private static let search = """
        CREATE VIRTUAL TABLE found USING fts5(title, body, content='note', content_rowid='id');
        INSERT INTO found(found) VALUES ('rebuild');
        CREATE TRIGGER found_i AFTER INSERT ON note BEGIN
          INSERT INTO found(rowid, title, body) VALUES (NEW.id, NEW.title, NEW.body); END;
        CREATE TRIGGER found_d AFTER DELETE ON note BEGIN
          INSERT INTO found(found, rowid, title, body)
            VALUES ('delete', OLD.id, OLD.title, OLD.body); END;
        CREATE TRIGGER found_u AFTER UPDATE ON note BEGIN
          INSERT INTO found(found, rowid, title, body)
            VALUES ('delete', OLD.id, OLD.title, OLD.body);
          INSERT INTO found(rowid, title, body) VALUES (NEW.id, NEW.title, NEW.body); END;
        """

    /// Two replicas, each with the same triggers of its own.
    private func twoReplicas(_ triggers: String) throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        let b = try TestStore(folder.file("b.db"), copy)
        // The tables that triggers write are not recorded: the owner chose those of the schema.
        try a.run("DELETE FROM syncd_meta WHERE key = 'tables'")
        for store in [a, b] { try store.run(triggers) }
        return (a, b)
    }

    private func expectEqual(
        _ a: TestStore, _ b: TestStore, _ comment: Comment? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws {
        for query in [
            "SELECT title, body, edits FROM note ORDER BY title, body",
            "SELECT l.id, title FROM line l LEFT JOIN note n ON n.id = l.note ORDER BY l.id",
        ] {
            #expect(try a.rows(query) == b.rows(query), comment, sourceLocation: location)
        }
    }

    /// The index is what a new one would be.
    private func expectIndexed(
        _ store: TestStore, _ comment: Comment? = nil,
        location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(throws: Never.self, comment, sourceLocation: location) {
            try store.run("INSERT INTO found(found, rank) VALUES ('integrity-check', 1)")
        }
    }

    @Test("a search index follows what is merged, whatever is written")
    func searchIndex() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        let (a, b) = try twoReplicas(Self.search)
        for round in 0..<12 {
            for (name, store) in [("a", a), ("b", b)] {
                for number in 0..<random.below(20) {
                    let title = "t\(random.below(12))"
                    switch random.below(5) {
                    case 0, 1:
                        try store.run(
                            """
                            INSERT INTO note(title, body) VALUES ('\(title)', '\(name)\(round)x\(number)')
                              ON CONFLICT DO UPDATE SET body = excluded.body || ' again'
                            """)
                    case 2:
                        try store.run(
                            "UPDATE note SET body = body || ' \(name)' WHERE title = '\(title)'")
                    case 3:
                        try store.run(
                            "UPDATE OR IGNORE note SET title = title || '\(name)' WHERE title = '\(title)'"
                        )
                    default: try store.run("DELETE FROM note WHERE title = '\(title)'")
                    }
                }
            }
            try TestStore.sync(a, b)
            try expectEqual(a, b, "\(seed)")
            for store in [a, b] { try expectIndexed(store, "\(seed)") }
        }
    }

    @Test("a trigger that writes a tracked table does not fire: its effect arrives")
    func tracked() throws {
        let (a, b) = try twoReplicas(
            Self.search + """
                CREATE TRIGGER counts AFTER UPDATE OF body ON note BEGIN
                  UPDATE note SET edits = edits + 1 WHERE id = NEW.id; END;
                CREATE TABLE log(what TEXT);
                CREATE TRIGGER both AFTER INSERT ON note BEGIN
                  INSERT INTO log VALUES ('inserted ' || NEW.title);
                  INSERT INTO line VALUES ('first of ' || NEW.title, NEW.id); END;
                """)
        try a.run("INSERT INTO note(title, body) VALUES ('one', 'x')")
        try TestStore.sync(a, b)
        try b.run("UPDATE note SET body = 'y'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT title, body, edits FROM note") == [["one", "y", 1]])
            #expect(try store.rows("SELECT count(*) FROM line") == [[1]])
            try expectIndexed(store)
        }
        #expect(try a.rows("SELECT what FROM log") == [["inserted one"]])
        #expect(try b.rows("SELECT what FROM log").isEmpty, "all of a trigger, or nothing")
    }

    @Test(
        "what cannot be made hollow keeps the triggers of its table from firing",
        arguments: [
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM line; END",
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE line SET id = id || '!'; END",
            """
            CREATE TRIGGER t BEFORE INSERT ON note BEGIN
              INSERT INTO seen VALUES (NEW.title); SELECT RAISE(IGNORE); END
            """,
            """
            CREATE TRIGGER t BEFORE INSERT ON note WHEN (SELECT count(*) FROM line) > 0
            BEGIN SELECT RAISE(IGNORE); END
            """,
        ])
    func stubborn(trigger: String) throws {
        let (a, b) = try twoReplicas("CREATE TABLE seen(x)")
        try a.run("INSERT INTO line VALUES ('kept', NULL)")
        try TestStore.sync(a, b)
        try b.run(trigger)
        try a.run("INSERT INTO note(title) VALUES ('new')")
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        #expect(try b.rows("SELECT id FROM line") == [["kept"]])
        #expect(try b.rows("SELECT title FROM note") == [["new"]])
        #expect(try b.rows("SELECT * FROM seen").isEmpty)
    }

    @Test("a check does not stop what others wrote, nor keep an index from it")
    func checks() throws {
        let (a, b) = try twoReplicas(Self.search)
        try b.run(
            """
            CREATE TRIGGER short BEFORE INSERT ON note WHEN length(NEW.title) > 3
            BEGIN SELECT RAISE(ABORT, 'too long'); END
            """)
        #expect(throws: (any Error).self) { try b.run("INSERT INTO note(title) VALUES ('longer')") }
        try a.run("INSERT INTO note(title) VALUES ('longer')")
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        try expectIndexed(b)
        #expect(try b.rows("SELECT rowid FROM found('longer')") == [[1]])
    }

    @Test("a trigger that fails does not stop a merge")
    func failing() throws {
        let (a, b) = try twoReplicas(
            """
            CREATE TABLE seen(title TEXT PRIMARY KEY ON CONFLICT FAIL) WITHOUT ROWID;
            CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (NEW.title); END;
            INSERT INTO seen VALUES ('two');
            """)
        try a.run("DELETE FROM seen")
        try a.run("INSERT INTO note(title) VALUES ('one'), ('two')")
        try TestStore.sync(a, b)
        try expectEqual(a, b)
        #expect(try b.rows("SELECT title FROM seen") == [["two"]])
    }
}
