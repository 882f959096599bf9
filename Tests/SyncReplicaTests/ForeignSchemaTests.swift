import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Other programs change the schema with plain SQL, and no daemon runs. What they wrote unseen is
/// found before anything is stated, or the call is refused; nothing is set back.
@Suite("Schema changes by other programs, without a daemon", .timeLimit(.minutes(15)))
struct ForeignSchemaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT);
        CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT, item TEXT REFERENCES item(id));
        INSERT INTO item VALUES ('x', 'a0', 'b0'), ('y', 'a1', 'b1'), ('w', 'a3', 'b3');
        INSERT INTO list VALUES (1, 'one', 'x'), (2, 'two', NULL);
        """

    private static let rebuild = """
        PRAGMA foreign_keys = OFF;
        BEGIN;
        CREATE TABLE new_item(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT CHECK(length(b) < 99));
        INSERT INTO new_item SELECT * FROM item WHERE id <> 'w';
        UPDATE new_item SET a = 'during' WHERE id = 'x';
        DROP TABLE item;
        ALTER TABLE new_item RENAME TO item;
        COMMIT;
        PRAGMA foreign_keys = ON;
        """

    private static let dropTriggers = """
        SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'syncd_[0-9]*'
        """

    /// Two replicas that have everything; the first in this journal mode.
    private func pair(_ mode: String = "wal") throws -> (TestStore, TestStore) {
        let a = try TestStore(
            folder.file("a.db"), schema: "PRAGMA journal_mode = \(mode); \(Self.schema)")
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        let b = try TestStore(folder.file("b.db"), copy)
        #expect(try a.rows("PRAGMA journal_mode") == [[.text(mode)]])
        try a.run("UPDATE item SET a = 'seen' WHERE id = 'y'")
        try TestStore.sync(a, b)
        return (a, b)
    }

    private func expectRefusal(
        _ store: TestStore, _ words: String, location: SourceLocation = #_sourceLocation
    ) {
        do {
            _ = try store.replica.vector
            Issue.record("was not refused", sourceLocation: location)
        } catch let error as SyncError {
            #expect(error.code == .refused, sourceLocation: location)
            #expect(error.reason.contains(words), "\(error)", sourceLocation: location)
            #expect(error.hint != nil, sourceLocation: location)
        } catch {
            Issue.record(error, sourceLocation: location)
        }
    }

    private func items(_ store: TestStore) throws -> [[Value]] {
        try store.rows("SELECT id, a, b FROM item ORDER BY id")
    }

    @Test(arguments: ["wal", "delete"])
    func columnIsAddedAndWrittenBeforeAnybodyLooks(mode: String) throws {
        let (a, b) = try pair(mode)
        try a.run("ALTER TABLE item ADD COLUMN extra TEXT DEFAULT 'd'")
        try a.run("UPDATE item SET extra = 'early' WHERE id = 'x'")
        try a.run("UPDATE item SET extra = 'D', a = 'both' WHERE id = 'y'")
        try a.run("INSERT INTO item VALUES ('z', 'a2', 'b2', 'with row')")
        try TestStore.sync(a, b)
        try b.run("UPDATE item SET b = 'from b'")
        try TestStore.sync(a, b)
        let rows: [[Value]] = [
            ["w", "a3", "from b", "d"], ["x", "a0", "from b", "early"],
            ["y", "both", "from b", "D"], ["z", "a2", "from b", "with row"],
        ]
        #expect(try a.rows("SELECT * FROM item ORDER BY id") == rows)
        try b.run("ALTER TABLE item ADD COLUMN extra TEXT DEFAULT 'd'")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT * FROM item ORDER BY id") == rows)
        #expect(try a.replica.conflicts().isEmpty)
    }

    @Test(arguments: ["wal", "delete"])
    func tableIsRebuiltAndWritten(mode: String) throws {
        let (a, b) = try pair(mode)
        try a.run("UPDATE item SET b = 'logged' WHERE id = 'y'")
        try a.run(Self.rebuild)
        try a.run("UPDATE item SET b = 'after' WHERE id = 'x'")
        try a.run("INSERT INTO item VALUES ('z', 'new', 'row')")
        try b.run("UPDATE list SET name = 'from b' WHERE id = 1")
        try TestStore.sync(a, b)
        let rows: [[Value]] = [
            ["x", "during", "after"], ["y", "seen", "logged"], ["z", "new", "row"],
        ]
        #expect(try items(a) == rows)
        #expect(try items(b) == rows)
        #expect(try a.rows("SELECT name, item FROM list WHERE id = 1") == [["from b", "x"]])
        #expect(try a.dump() == b.dump())
        // From now on it is recorded again.
        try a.run("UPDATE item SET b = 'last' WHERE id = 'z'; DELETE FROM item WHERE id = 'y'")
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
        #expect(try items(b).count == 2)
    }

    @Test func whatWasMissedIsInHistoryOnce() throws {
        let (a, b) = try pair()
        try a.run(Self.rebuild)
        try a.run("INSERT INTO item VALUES ('z', 'new', 'row')")
        #expect(try a.replica.recordMissed() == 3)
        #expect(try a.replica.recordMissed() == 0)
        try TestStore.sync(a, b)
        let store = try Store.open(a.path)
        defer { try? store.close() }
        let recovered = try store.history().filter { $0.flags.contains(.recovered) }
        #expect(recovered.map(\.changes.count) == [3])
        let delete = try #require(recovered.first?.changes.first { $0.kind == .delete })
        #expect(delete.tombstone?["b"] == "b3", "the records know its values")
        #expect(try store.verifyCapture().isEmpty)
    }

    @Test func tableIsDroppedAndMadeAgain() throws {
        let (a, b) = try pair()
        try a.run(
            """
            PRAGMA foreign_keys = OFF; DROP TABLE list;
            CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT, item TEXT REFERENCES item(id));
            INSERT INTO list VALUES (2, 'other', 'y'), (3, 'three', NULL);
            """)
        try b.run("UPDATE item SET a = 'from b' WHERE id = 'x'")
        try TestStore.sync(a, b)
        let rows: [[Value]] = [[2, "other", "y"], [3, "three", .null]]
        #expect(try a.rows("SELECT * FROM list ORDER BY id") == rows)
        #expect(try b.rows("SELECT * FROM list ORDER BY id") == rows)
    }

    @Test(arguments: ["wal", "delete"])
    func triggersAreDroppedByHand(mode: String) throws {
        let (a, b) = try pair(mode)
        for row in try a.rows(Self.dropTriggers) { try a.run("DROP TRIGGER \(row[0].description)") }
        try a.run("UPDATE item SET a = 'unseen' WHERE id = 'x'; DELETE FROM item WHERE id = 'y'")
        try a.run("INSERT INTO list VALUES (7, 'seven', 'x')")
        try b.run("UPDATE item SET b = 'from b'")
        try TestStore.sync(a, b)
        #expect(try items(a) == [["w", "a3", "from b"], ["x", "unseen", "from b"]])
        #expect(try a.dump() == b.dump())
    }

    @Test func severalAtOnce() throws {
        let (a, b) = try pair()
        try a.run("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        try a.run("INSERT INTO note VALUES (1, 'early')")
        try a.run(Self.rebuild)
        try a.run("ALTER TABLE list ADD COLUMN extra; UPDATE list SET extra = name WHERE id = 2")
        for row in try a.rows(Self.dropTriggers + " AND tbl_name = 'list'") {
            try a.run("DROP TRIGGER \(row[0].description)")
        }
        try a.run("UPDATE list SET name = 'unseen' WHERE id = 1")
        try b.run(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
            ALTER TABLE list ADD COLUMN extra
            """)
        try Store.track(b.path)
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT * FROM note") == [[1, "early"]])
        #expect(try b.rows("SELECT name, extra FROM list ORDER BY id").last == ["two", "two"])
        #expect(try a.dump() == b.dump())
    }

    @Test func otherProgramsRepairTheTriggersFirst() throws {
        let (a, b) = try pair()
        try a.run(Self.rebuild)
        try a.run("UPDATE item SET b = 'after' WHERE id = 'x'")
        _ = try Store.alter(a.path, running: "ALTER TABLE list ADD COLUMN extra")
        try TestStore.sync(a, b)
        #expect(try items(b) == [["x", "during", "after"], ["y", "seen", "b1"]])
    }

    @Test func rebuiltTableWithAnotherColumnNeedsADecision() throws {
        let (a, b) = try pair()
        try a.run(
            """
            CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, a TEXT, c TEXT);
            PRAGMA foreign_keys = OFF; INSERT INTO new SELECT * FROM item; DROP TABLE item;
            ALTER TABLE new RENAME TO item; UPDATE item SET c = 'C' WHERE id = 'x'
            """)
        expectRefusal(a, "with a column c and without the column b")
        #expect(throws: SyncError.self) { try a.pull(from: b) }
        #expect(throws: SyncError.self) { try a.replica.closeConflicts() }
        #expect(throws: SyncError.self) { try a.replica.setPolicies(MergePolicies()) }
        let store = try Store.open(a.path)
        try store.repairCapture(comparing: true)
        try store.close()
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT a, b FROM item WHERE id = 'x'") == [["a0", "b0"]])
        #expect(
            try b.replica.waiting.map(\.reason) == [.noColumns(["c"])])
    }

    @Test func droppedColumnIsDroppedHereAlone() throws {
        let (a, b) = try pair()
        try a.run(
            """
            CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, a TEXT); PRAGMA foreign_keys = OFF;
            INSERT INTO new SELECT id, a FROM item; DROP TABLE item;
            ALTER TABLE new RENAME TO item; UPDATE item SET a = 'without' WHERE id = 'x'
            """)
        try b.run("UPDATE item SET b = 'kept' WHERE id = 'x'")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT a, b FROM item WHERE id = 'x'") == [["without", "kept"]])
        #expect(try a.rows("SELECT a FROM item WHERE id = 'x'") == [["without"]])
        #expect(try a.replica.waiting.isEmpty)
    }

    /// A replica that has dropped a table forwards its rows, also after a collection, and when it is
    /// another replica by then: one that was restored.
    @Test(arguments: [false, true])
    func rowsOfADroppedTableAreForwarded(isRenewed: Bool) throws {
        var (a, b) = try pair()
        let snapshot = try a.replica.batches(since: VersionVector())
        let c = try TestStore(
            folder.file("c.db"), StoreReplica.create(at: folder.file("c.db"), from: snapshot[0]))
        try c.run("INSERT INTO list VALUES (7, 'from c', 'x')")
        try TestStore.sync(c, a)
        try a.run(
            """
            INSERT INTO list VALUES (8, 'from a', 'y'); UPDATE list SET name = 'edited' WHERE id = 2;
            DELETE FROM list WHERE id = 1
            """)
        _ = try a.replica.vector
        try Store.alter(a.path, running: "DROP TABLE list")
        _ = try a.replica.collect(lease: .seconds(-1))
        if isRenewed {
            _ = try a.replica.renewIdentity()
            try a.replica.close()
            a = try TestStore(a.path, StoreReplica(a.path))
        }
        for store in [b, c] {
            try TestStore.sync(a, store)
            let rows = try store.rows("SELECT name, item FROM list ORDER BY name")
            #expect(rows == [["edited", .null], ["from a", "y"], ["from c", "x"]])
        }
        try a.run("CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT, item TEXT REFERENCES item)")
        try Store.track(a.path)
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM list") == [[3]])
    }

    @Test func droppedTableNeedsADecisionAndComesBackWithItsRows() throws {
        let (a, b) = try pair()
        try a.run("PRAGMA foreign_keys = OFF; DROP TABLE list")
        expectRefusal(a, "dropped the table list")
        let store = try Store.open(a.path)
        try store.repairCapture(comparing: true)
        try store.close()
        try b.run("UPDATE item SET a = 'from b' WHERE id = 'x'")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT count(*) FROM list") == [[2]])
        try a.run(
            """
            CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT, item TEXT REFERENCES item(id));
            INSERT INTO list VALUES (1, 'mine', 'y')
            """)
        try TestStore.sync(a, b)
        for store in [a, b] {
            let rows = try store.rows("SELECT name, item FROM list ORDER BY name")
            #expect(rows == [["mine", "y"], ["one", "x"], ["two", .null]])
        }
        #expect(try a.rows("SELECT id FROM list WHERE name = 'mine'") == [[1]])
    }

    @Test func anotherKeyIsRefusedForGood() throws {
        let (a, _) = try pair()
        try a.run(
            """
            CREATE TABLE new(id INTEGER, name TEXT PRIMARY KEY, item TEXT REFERENCES item(id));
            INSERT INTO new SELECT * FROM list; DROP TABLE list; ALTER TABLE new RENAME TO list
            """)
        expectRefusal(a, "the primary key of list")
        let store = try Store.open(a.path)
        try store.repairCapture(comparing: true)
        try store.close()
        expectRefusal(a, "the primary key of list")
    }

    /// The rows came to the clone as inserts: those are stated, and say nothing of the new column.
    @Test func columnAddedToAClone() throws {
        let (a, b) = try pair()
        try b.run("ALTER TABLE item ADD COLUMN c TEXT; UPDATE item SET c = 'of b' WHERE id = 'x'")
        try TestStore.sync(b, a)
        try a.run("ALTER TABLE item ADD COLUMN c TEXT")
        try TestStore.sync(b, a)
        for store in [a, b] {
            let rows = try store.rows("SELECT c FROM item ORDER BY id")
            #expect(rows == [[.null], ["of b"], [.null]])
        }
    }

    /// Two wrote into a column that each added: one value is shown, the other one is in the log.
    @Test func columnAddedToACloneWhereAValueWaits() throws {
        let (a, b) = try pair()
        try a.run("ALTER TABLE item ADD COLUMN c TEXT; UPDATE item SET c = 'of a' WHERE id = 'x'")
        try TestStore.sync(a, b)
        try b.run("ALTER TABLE item ADD COLUMN c TEXT; UPDATE item SET c = 'of b' WHERE id = 'x'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT c FROM item WHERE id = 'x'") == [["of b"]])
        }
        let conflicts = try b.rows("SELECT count(*) FROM syncd_conflict WHERE columns LIKE '%c%'")
        #expect(conflicts == [[1]])
    }

    /// Rows of before that are unresolved are stated with every change: a table that comes back
    /// with other rows waits until it is empty.
    @Test func droppedTableComesBackBesideOpenConflicts() throws {
        let part = """
            CREATE TABLE part(id TEXT PRIMARY KEY, item TEXT REFERENCES item(id) ON DELETE SET NULL)
            """
        let a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE item(id TEXT PRIMARY KEY); \(part);
                INSERT INTO item VALUES ('p'), ('q'); INSERT INTO part VALUES ('1', 'p')
                """)
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        let b = try TestStore(folder.file("b.db"), copy)
        try b.run("INSERT INTO part VALUES ('2', 'p')")
        try a.run("PRAGMA foreign_keys = ON; DELETE FROM item WHERE id = 'p'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT count(*) FROM part WHERE item IS NULL") == [[2]])
        let before = try b.rows("SELECT id, item FROM part ORDER BY id")
        try a.run("PRAGMA foreign_keys = OFF; DROP TABLE part")
        let store = try Store.open(a.path)
        try store.repairCapture(comparing: true)
        try store.close()
        try TestStore.sync(a, b)
        try a.run("\(part); INSERT INTO part VALUES ('9', NULL)")
        expectRefusal(a, "open conflicts")
        try a.run("DELETE FROM part")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT id, item FROM part ORDER BY id") == before)
        }
        try a.run("INSERT INTO part VALUES ('9', NULL)")
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT count(*) FROM part") == [[3]])
    }

    @Test func newTableIsRecordedOrNamed() throws {
        let (a, b) = try pair()
        for store in [a, b] { try store.run("CREATE TABLE note(id INTEGER PRIMARY KEY, text)") }
        try a.run("INSERT INTO note VALUES (1, 'early')")
        #expect(try a.replica.unrecordedTables() == ["note"])
        _ = try a.replica.vector
        #expect(try a.replica.unrecordedTables().isEmpty, "it records all tables")
        _ = try b.replica.vector
        #expect(try b.replica.unrecordedTables() == ["note"], "a clone was not asked")
        try b.run("INSERT INTO note VALUES (5, 'before it was tracked')")
        try Store.track(b.path)
        try TestStore.sync(a, b)
        for store in [a, b] {
            let rows = try store.rows("SELECT text FROM note ORDER BY id")
            #expect(rows == [["early"], ["before it was tracked"]])
        }
    }

    @Test func triggersOfTheUserDoNotStandInTheWay() throws {
        let (a, b) = try pair()
        try a.run(
            """
            CREATE TABLE plain(t TEXT);
            CREATE TRIGGER keep AFTER INSERT ON item BEGIN INSERT INTO plain VALUES (new.id); END;
            """)
        try TestStore.sync(a, b)
        try a.run(Self.rebuild)
        try a.run(
            """
            CREATE TRIGGER keep AFTER INSERT ON item BEGIN INSERT INTO plain VALUES (new.id); END;
            INSERT INTO item VALUES ('z', 'new', 'row')
            """)
        try b.run("INSERT INTO item VALUES ('q', 'from', 'b')")
        try TestStore.sync(a, b)
        #expect(try items(a) == items(b))
        #expect(try a.rows("SELECT t FROM plain") == [["z"], ["q"]])
    }

    @Test func nothingIsRecordedWhereNothingWasMissed() throws {
        let (a, b) = try pair()
        try a.run("CREATE INDEX item_a ON item(a); ALTER TABLE list ADD COLUMN extra")
        for row in try a.rows(Self.dropTriggers) { try a.run("DROP TRIGGER \(row[0].description)") }
        #expect(try a.replica.recordMissed() == 0)
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
        let sent = try a.replica.batches(since: b.replica.vector).map(BatchDecoder.decode)
        #expect(sent.map(\.facts.count).reduce(0, +) == 0, "the schema alone")
    }
}
