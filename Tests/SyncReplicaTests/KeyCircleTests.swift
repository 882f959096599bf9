import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// Primary keys that are references, to themselves and to each other.
@Suite("Merging: keys that refer to keys in a circle")
struct KeyCircleTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("a key that refers to itself is a key like any other")
    func ownKey() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE node(id INTEGER PRIMARY KEY REFERENCES node(id), v TEXT);
                CREATE TABLE tag(name TEXT PRIMARY KEY REFERENCES tag, v TEXT);
                CREATE TABLE pair(x INTEGER, y INTEGER, v TEXT, PRIMARY KEY(x, y),
                  FOREIGN KEY(x, y) REFERENCES pair(x, y) ON DELETE CASCADE);
                INSERT INTO node VALUES (1, 'one'), (2, 'two');
                INSERT INTO tag VALUES ('red', 'r'); INSERT INTO pair VALUES (1, 2, 'p');
                """)
        #expect(try Store.unmergedTables(a.path).isEmpty)
        try a.run("INSERT INTO node VALUES (3, 'a'); UPDATE tag SET v = 'R'")
        try b.run("INSERT INTO node VALUES (3, 'b'); DELETE FROM pair")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(
                try store.rows("SELECT v FROM node ORDER BY v") == [
                    ["a"], ["b"], ["one"], ["two"],
                ])
            #expect(try store.rows("SELECT * FROM tag") == [["red", "R"]])
            #expect(try store.rows("SELECT * FROM pair").isEmpty)
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
    }

    @Test("tables whose keys refer to each other are named, and stop no other table")
    func circles() throws {
        let path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, v TEXT);
            CREATE TABLE friend(a INTEGER, b INTEGER, PRIMARY KEY(a, b),
              FOREIGN KEY(b, a) REFERENCES friend(a, b) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE one(id INTEGER PRIMARY KEY
              REFERENCES two(id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE two(id INTEGER PRIMARY KEY
              REFERENCES one(id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE detail(id INTEGER PRIMARY KEY REFERENCES one(id), v TEXT);
            INSERT INTO item VALUES (1, 'x'); INSERT INTO friend VALUES (1, 2), (2, 1);
            BEGIN; INSERT INTO one VALUES (5); INSERT INTO two VALUES (5); COMMIT;
            """)
        connection.close()
        try Store.track(path)
        let named = try Store.unmergedTables(path)
        #expect(
            Dictionary(uniqueKeysWithValues: named.map { ($0.name, $0.reason) }) == [
                "friend": "its primary key is a foreign key in a circle: friend → friend",
                "one": "its primary key is a foreign key in a circle: one → two → one",
                "two": "its primary key is a foreign key in a circle: two → one → two",
                "detail": "it refers to one, which is not synchronised",
            ])
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE item SET v = 'y'; INSERT INTO friend VALUES (3, 3)")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT v FROM item") == [["y"]])
        #expect(
            try a.replica.unsyncedRows().map(\.table).sorted() == [
                "detail", "friend", "one", "two",
            ])
    }

    @Test("a synchronised table that gets such a key is named, with what to do")
    func laterCircle() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE friend(a INTEGER, b INTEGER, PRIMARY KEY(a, b));
                INSERT INTO friend VALUES (1, 2), (2, 1);
                """)
        func rebuild(_ reference: String) throws {
            try a.run(
                """
                BEGIN; CREATE TABLE other(a INTEGER, b INTEGER, PRIMARY KEY(a, b) \(reference));
                INSERT INTO other SELECT * FROM friend; DROP TABLE friend;
                ALTER TABLE other RENAME TO friend; COMMIT
                """)
        }
        try rebuild(
            """
            , FOREIGN KEY(b, a) REFERENCES other(a, b) DEFERRABLE INITIALLY DEFERRED
            """)
        try a.run("INSERT INTO friend VALUES (7, 7)")
        let error = #expect(throws: SyncError.self) { try TestStore.sync(a, b) }
        #expect(error?.code == .cannotTrack)
        #expect(error?.reason.contains("in a circle: friend → friend") == true)
        #expect(error?.hint?.contains("former foreign keys") == true)
        try rebuild("")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT count(*) FROM friend") == [[3]])
    }

    @Test("a policy cannot make keys refer to each other")
    func declaredCircle() throws {
        let store = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE note(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE page(id INTEGER PRIMARY KEY REFERENCES note(id), v TEXT);
                INSERT INTO note VALUES (1, 'x'), (2, 'y'); INSERT INTO page VALUES (1, 'p');
                """)
        for target in ["note", "page"] {
            let policies = MergePolicies(entities: ["note": .init(references: ["id": target])])
            let error = #expect(throws: SyncError.self) {
                try store.replica.setPolicies(policies)
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.reason.contains("in a circle") == true, "\(String(describing: error))")
        }
        #expect(try !store.replica.batches(since: VersionVector()).isEmpty)
    }
}
