import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// References that name nothing: what a writer without foreign keys left, and what a member's batch
/// may say.
@Suite("Merging: references to nothing")
struct LooseReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY, num INTEGER) WITHOUT ROWID;
        CREATE TABLE page(name TEXT, part INTEGER, PRIMARY KEY(name, part)) WITHOUT ROWID;
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT, note INTEGER REFERENCES note(id),
          tag TEXT REFERENCES tag(name) ON DELETE SET NULL, page TEXT, part INTEGER,
          must TEXT NOT NULL REFERENCES tag(name) ON DELETE CASCADE,
          FOREIGN KEY(page, part) REFERENCES page(name, part) ON DELETE SET NULL);
        INSERT INTO note VALUES (1, 'one'), (2, 'two');
        INSERT INTO tag VALUES ('red', 1), ('blue', 2);
        INSERT INTO page VALUES ('p', 1), ('q', 2);
        INSERT INTO item VALUES (1, 'a', 1, 'red', 'p', 1, 'red'), (2, 'b', 2, NULL, 'q', 2, 'blue')
        """

    @Test("what a writer without foreign keys wrote is shown as it was written")
    func written() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(
            """
            PRAGMA foreign_keys = OFF;
            UPDATE item SET tag = 'none', note = 77 WHERE id = 1;
            DELETE FROM tag WHERE name = 'blue'; DELETE FROM page;
            """)
        try TestStore.sync(a, b)
        let expected: [[Value]] = [
            [1, "a", 77, "none", "p", 1, "red"], [2, "b", 2, nil, "q", 2, "blue"],
        ]
        for store in [a, b] { #expect(try store.rows("SELECT * FROM item") == expected) }
        try b.run("UPDATE item SET text = 'edited'; UPDATE item SET tag = 'red' WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT text, tag FROM item") == [["edited", "red"], ["edited", nil]])
        #expect(try a.dump() == b.dump())
    }

    @Test("a row whose target is inserted later refers to it", arguments: [false, true])
    func childFirst(isSyncedBetween: Bool) throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try b.run("INSERT INTO note VALUES (3, 'at b'), (4, 'at b')")
        try a.run("PRAGMA foreign_keys = OFF; UPDATE item SET note = 9, tag = 'late' WHERE id = 1")
        if isSyncedBetween { try TestStore.sync(a, b) }
        try a.run("INSERT INTO note VALUES (9, 'mine'); INSERT INTO tag VALUES ('late', 1)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(
                try store.rows(
                    """
                    SELECT note.text, tag.name FROM item LEFT JOIN note ON note.id = item.note
                    LEFT JOIN tag ON tag.name = item.tag WHERE item.id = 1
                    """) == [["mine", "late"]])
        }
    }

    @Test("rows stay when their foreign key names another table", arguments: [false, true])
    func renamedTarget(byAlter: Bool) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE old(id INTEGER PRIMARY KEY); CREATE TABLE new(id INTEGER PRIMARY KEY);
                CREATE TABLE item(id INTEGER PRIMARY KEY, ref INTEGER NOT NULL REFERENCES old(id));
                INSERT INTO old VALUES (1), (2); INSERT INTO new VALUES (1), (2);
                INSERT INTO item VALUES (1, 1), (2, 2)
                """)
        for store in [a, b] {
            let rebuild = """
                CREATE TABLE temporary(id INTEGER PRIMARY KEY, ref INTEGER NOT NULL
                  REFERENCES new(id));
                INSERT INTO temporary SELECT * FROM item; DROP TABLE item;
                ALTER TABLE temporary RENAME TO item;
                """
            if byAlter {
                _ = try Store.alter(store.path, running: rebuild)
            } else {
                try store.run(
                    "PRAGMA foreign_keys = OFF; BEGIN; \(rebuild) COMMIT; PRAGMA foreign_keys = ON")
            }
        }
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM item") == [[1, 1], [2, 2]])
        }
        try a.run("DELETE FROM old; UPDATE item SET ref = 2")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM item") == [[1, 2], [2, 2]])
            #expect(try store.rows("SELECT * FROM old").isEmpty)
        }
    }

    /// Its reference is not shown as it was recorded, so that the rebuilt table shows a repair.
    @Test("a row that is deleted after its foreign key was changed stays deleted")
    func deletedAfterRebuild() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE old(id INTEGER PRIMARY KEY); CREATE TABLE new(id INTEGER PRIMARY KEY);
                CREATE TABLE item(id INTEGER PRIMARY KEY, ref REFERENCES old ON DELETE SET NULL);
                INSERT INTO old VALUES (21)
                """)
        try a.run("DELETE FROM old")
        try b.run("INSERT INTO item VALUES (3, 21)")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT * FROM item") == [[3, .null]])
        try a.run(
            """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE temporary(id INTEGER PRIMARY KEY, ref REFERENCES new ON DELETE SET NULL);
            INSERT INTO temporary SELECT * FROM item; DROP TABLE item;
            ALTER TABLE temporary RENAME TO item; COMMIT; PRAGMA foreign_keys = ON
            """)
        try a.run("DELETE FROM item")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM item").isEmpty)
            #expect(try store.kinds(of: "item/3").last == .delete)
        }
    }

    @Test("a value that names a row again, which was deleted and restored, is no missed change")
    func targetReturns() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE p(k TEXT PRIMARY KEY, v INTEGER);
                CREATE TABLE ch(id INTEGER PRIMARY KEY,
                  pk TEXT REFERENCES p(k) ON DELETE CASCADE ON UPDATE CASCADE);
                INSERT INTO p VALUES ('a', 1); INSERT INTO ch VALUES (1, 'a')
                """)
        try b.run("PRAGMA foreign_keys = OFF; DELETE FROM p")
        try TestStore.sync(a, b)
        try a.run("INSERT INTO p VALUES ('a', 1)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM ch") == [[1, "a"]])
            _ = try Store.mend(store.path, comparing: true)
            #expect(try store.replica.recordMissed() == 0)
        }
        #expect(try a.dump() == b.dump())
    }

    /// What a member may say in place of a reference.
    enum Forgery: CaseIterable {
        case absent, otherEntity, otherPart, itself
    }

    @Test(
        "a reference that nobody could have written is shown as NULL, or its row is not shown",
        arguments: Forgery.allCases)
    func forged(_ forgery: Forgery) throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(
            """
            UPDATE item SET note = 2, tag = 'blue', page = 'q', part = 2, must = 'blue'
            WHERE id = 1
            """)
        let rows = try a.replica.names()
        func uid(_ entity: Int, _ values: [Value]) throws -> ObjectUID {
            let found = rows.first { $0.key.entity == entity && $0.key.values == values }
            return try #require(found?.value)
        }
        // Entities are in the order of their names.
        let note = try uid(1, [2])
        let page = try uid(2, ["p", 1])
        for bytes in try a.replica.batches(since: b.replica.vector) {
            var batch = try BatchDecoder.decode(bytes)
            batch.facts = batch.facts.map { fact in
                guard case .cell(let uid, let entity, let cell, let version) = fact,
                    let column = batch.entities[entity].cells[cell].first,
                    ["note", "page", "must"].contains(column)
                else { return fact }
                var value = version.value
                switch forgery {
                case .absent: value[0] = .reference(ObjectUID(high: 0, low: 7), part: 0)
                case .otherEntity: value[0] = .reference(column == "note" ? page : note, part: 0)
                case .otherPart: value[0] = .reference(value[0].target ?? note, part: 9)
                case .itself: value[0] = .reference(uid, part: 0)
                }
                return .cell(
                    uid, entity: entity, cell: cell,
                    Version(version.dot, incarnation: version.incarnation, value: value))
            }
            let forged = try BatchEncoder.encode(batch, signing: nil)
            _ = try b.replica.merge(forged)
        }
        #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
        try b.run("UPDATE item SET text = 'on'; INSERT INTO tag VALUES ('new', 1)")
        try TestStore.sync(a, b)
        #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
        #expect(try b.rows("SELECT text FROM item WHERE id = 2") == [["on"]])
    }

    @Test("a key that refers to nothing gets another number where a row has it")
    func keyThatRefersToNothing() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE profile(user INTEGER PRIMARY KEY REFERENCES user, bio TEXT);
                INSERT INTO user VALUES (1, 'one')
                """)
        try b.run("PRAGMA foreign_keys = OFF; INSERT INTO profile VALUES (2, 'of nobody')")
        try a.run("INSERT INTO user VALUES (2, 'two'); INSERT INTO profile VALUES (2, 'of two')")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT bio FROM profile WHERE user = 2") == [["of two"]])
            #expect(
                try store.rows(
                    """
                    SELECT bio FROM profile WHERE user NOT IN (SELECT id FROM user)
                    """) == [["of nobody"]])
        }
        #expect(try a.dump() == b.dump())
    }

    @Test(
        "what led to nothing stays a value when a row comes there and nobody wrote it",
        arguments: [true, false])
    func rowThatCameLater(usesLocalLane: Bool) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, v TEXT);
                CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p, v TEXT);
                CREATE TABLE g(id INTEGER PRIMARY KEY, c INTEGER REFERENCES c);
                """, usesLocalLane: usesLocalLane)
        try a.run("PRAGMA foreign_keys = OFF; INSERT INTO c VALUES (1, 7, 'x')")
        try TestStore.sync(a, b)
        let records = "SELECT hex(record) FROM syncd_object ORDER BY id"
        let stated = try a.rows(records)
        // The general way reads the row, because one that is new refers to it.
        try a.run("BEGIN; INSERT INTO p VALUES (7, 'y'); INSERT INTO g VALUES (1, 1); COMMIT")
        try TestStore.sync(a, b)
        #expect(try a.rows(records).count == 3)
        #expect(try a.rows(records).contains(stated[0]))
        // Who writes it means the row that is there now.
        try a.run("UPDATE c SET p = 8; UPDATE c SET p = 7")
        try TestStore.sync(a, b)
        #expect(try !a.rows(records).contains(stated[0]))
        #expect(throws: (any Error).self) { try b.run("DELETE FROM p") }
    }
}
