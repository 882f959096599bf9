import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// What other programs do to the schema, and what is said and done about it.
@Suite struct VerifyTests {
    let folder: TemporaryFolder
    let path: String
    let db: PlainConnection
    let tracker: Tracker

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("verify.db")
        db = try PlainConnection(path)
        try db.run(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, b);
            CREATE TABLE other(k TEXT PRIMARY KEY, v);
            INSERT INTO item VALUES(1, 'x', 1);
            """)
        tracker = try Tracker(path: path)
    }

    private func entries(after sql: String) throws -> [LogEntry] {
        let last = try db.value("SELECT coalesce(max(seq), 0) FROM syncd_log").description
        try db.run(sql)
        return try RawLog.entries(db, after: Int64(last) ?? 0)
    }

    private func layout(_ entity: Int64) throws -> CaptureLayout {
        guard
            case .text(let json) = try db.value(
                "SELECT layout FROM syncd_entity WHERE id = \(entity) AND retired = 0")
        else { throw RawLog.Malformed(reason: "entity \(entity) is not live") }
        return try CaptureLayout(json: json)
    }

    /// Repairs, and expects that this was needed for `problem` alone and that all is well after it.
    private func repair(_ problem: CaptureFinding.Problem, _ table: String = "item") throws {
        let expected = CaptureFinding(
            entity: try db.value("SELECT id FROM syncd_entity WHERE name = '\(table)'").integer,
            table: table, problem: problem)
        #expect(try tracker.verify() == [expected])
        #expect(try tracker.repairCapture().findings == [expected])
        #expect(try tracker.verify().isEmpty)
        try db.run("CREATE VIEW later AS SELECT 1; DROP VIEW later")
        #expect(try tracker.verify().isEmpty, "also when it has to look")
    }

    private func trigger(_ letter: Character) -> String {
        TriggerName(entity: 1, letter: letter).text
    }

    @Test func nothingWrong() throws {
        try tracker.track()
        #expect(try tracker.verify().isEmpty)
        try db.run("VACUUM; CREATE INDEX i ON item(b)")
        #expect(try tracker.verify().isEmpty)
        #expect(try tracker.repairCapture().findings.isEmpty)
    }

    @Test func addColumn() throws {
        try tracker.track(options: ["item": CaptureOptions(undo: true)])
        try db.run("ALTER TABLE item ADD COLUMN c TEXT COLLATE NOCASE DEFAULT 'd'")
        try repair(.triggersOutdated)
        #expect(try layout(3).previous == 1)
        let update = try entries(after: "UPDATE item SET c = 'D'")[0]
        #expect(update.entity == 3 && update.changed == [3] && update.old == [3: "d"])
        #expect(try entries(after: "DELETE FROM item")[0].kept == [1: "x", 2: 1, 3: "D"])
    }

    @Test(arguments: [CaptureOptions.Kept.columns(["a", "b"]), .columns(["id"]), .none])
    func addedColumnIsKeptOnlyWhereAllAre(_ kept: CaptureOptions.Kept) throws {
        try tracker.track(options: ["item": CaptureOptions(kept: kept)])
        let before = try layout(1).kept
        try db.run("ALTER TABLE item ADD COLUMN c")
        try repair(.triggersOutdated)
        #expect(try layout(3).kept == before)
    }

    @Test func renameColumn() throws {
        try tracker.track()
        try db.run("ALTER TABLE item RENAME COLUMN a TO \"new name\"")
        #expect(try entries(after: "UPDATE item SET \"new name\" = 'y'")[0].changed == [1])
        try repair(.renamed(to: "item"))
        #expect(try layout(3).renamed == ["new name": "a"])
        #expect(try layout(3).columns == ["id", "new name", "b"])
        #expect(try entries(after: "REPLACE INTO item VALUES(1, 'z', 2)")[0].kept[1] == "y")
    }

    @Test func swappedColumnNames() throws {
        try tracker.track()
        try db.run(
            """
            ALTER TABLE item RENAME a TO c; ALTER TABLE item RENAME b TO a;
            ALTER TABLE item RENAME c TO b
            """)
        try repair(.renamed(to: "item"))
        #expect(try layout(3).renamed == ["a": "b", "b": "a"])
    }

    @Test func renamedKeyAndChosenColumns() throws {
        try tracker.track(options: ["item": CaptureOptions(kept: .columns(["b"]))])
        try db.run("ALTER TABLE item RENAME id TO key; ALTER TABLE item RENAME b TO blue")
        try repair(.renamed(to: "item"))
        #expect(try layout(3).key == ["key"] && layout(3).kept == [2])
        #expect(try layout(3).renamed == ["key": "id", "blue": "b"])
        #expect(try entries(after: "DELETE FROM item")[0].kept == [2: 1])
    }

    @Test func renameTable() throws {
        try tracker.track()
        try db.run("ALTER TABLE item RENAME TO thing")
        #expect(try entries(after: "REPLACE INTO thing VALUES(1, 'y', 1)").count == 2)
        try repair(.renamed(to: "thing"))
        #expect(try layout(3).previous == 1)
        #expect(try entries(after: "DELETE FROM thing")[0].entity == 3)
    }

    @Test func renamedParentIsKnownToItsChildren() throws {
        try db.run(
            "CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES item ON DELETE CASCADE)")
        try tracker.track()
        try db.run("ALTER TABLE item RENAME TO parent")
        #expect(try tracker.repairCapture().findings.map(\.table) == ["child", "item"])
        #expect(try tracker.verify().isEmpty)
        let layouts = try db.strings("SELECT layout FROM syncd_entity WHERE name = 'child'")
        #expect(try CaptureLayout(json: layouts[1]).cascades?.map(\.parent) == ["parent"])
    }

    @Test func columnThatIsRecordedCannotBeDropped() throws {
        try tracker.track()
        let error = #expect(throws: SyncError.self) {
            try db.run("ALTER TABLE item DROP COLUMN b")
        }
        #expect(error?.description.contains("use_synctool_migrate") == true)
        let missing = "gukhd".map(trigger)
        for name in missing { try db.run("DROP TRIGGER \(name)") }
        try db.run("ALTER TABLE item DROP COLUMN b")
        try repair(.triggersMissing(missing))
        #expect(try layout(3).columns == ["id", "a"] && layout(3).renamed == nil)
        #expect(try entries(after: "DELETE FROM item")[0].kept == [1: "x"])
    }

    @Test func rebuiltTable() throws {
        try tracker.track()
        let names = try db.strings(
            "SELECT name FROM sqlite_schema WHERE name GLOB 'syncd_1_*' ORDER BY rowid")
        try db.run(
            """
            BEGIN; CREATE TABLE rebuilt(id INTEGER PRIMARY KEY, b, a TEXT NOT NULL);
            INSERT INTO rebuilt SELECT id, b, a FROM item; DROP TABLE item;
            ALTER TABLE rebuilt RENAME TO item; COMMIT
            """)
        #expect(try entries(after: "UPDATE item SET a = 'lost'").isEmpty)
        try repair(.triggersMissing(names))
        #expect(try layout(3).columns == ["id", "b", "a"] && layout(3).renamed == nil)
        #expect(try entries(after: "UPDATE item SET a = 'seen'")[0].changed == [2])
    }

    @Test func dropTable() throws {
        try tracker.track()
        try db.run("DROP TABLE item")
        try repair(.tableDropped)
        #expect(try db.value("SELECT retired FROM syncd_entity WHERE id = 1") == 1)
        try db.run("CREATE TABLE item(id INTEGER PRIMARY KEY)")
        #expect(try tracker.verify().map(\.problem) == [.newTable])
        let report = try tracker.track()
        #expect(report.entries.contains { $0.outcome == .tracked(entity: 3) })
    }

    @Test func newTable() throws {
        try tracker.track()
        try db.run("CREATE TABLE fresh(id INTEGER PRIMARY KEY); CREATE TABLE keyless(a)")
        let finding = CaptureFinding(entity: nil, table: "fresh", problem: .newTable)
        #expect(try tracker.verify() == [finding] && !finding.mayHaveLostChanges)
        try tracker.track()
        #expect(try tracker.verify().isEmpty)
        #expect(try entries(after: "INSERT INTO fresh VALUES(1)").count == 1)
    }

    @Test func triggersDroppedByHand() throws {
        try tracker.track()
        try db.run("DROP TRIGGER \(trigger("u"))")
        try repair(.triggersMissing([trigger("u")]))
        #expect(try entries(after: "UPDATE item SET b = 2").count == 1)
        try db.run(
            """
            DROP TRIGGER \(trigger("d"));
            CREATE TRIGGER \(trigger("d")) AFTER DELETE ON item BEGIN SELECT 1; END
            """)
        try repair(.triggersOutdated)
        #expect(try db.value("SELECT count(*) FROM syncd_entity") == 2, "the same entity")
    }

    @Test func damageIsNotHiddenByTrackingMore() throws {
        try tracker.track()
        try db.run("DROP TRIGGER \(trigger("u")); CREATE TABLE fresh(id INTEGER PRIMARY KEY)")
        try tracker.track()
        #expect(try tracker.verify().map(\.problem) == [.triggersMissing([trigger("u")])])
        try tracker.untrack(entities: .only(["fresh"]))
        #expect(try tracker.verify().first { $0.entity == 1 } != nil)
    }

    @Test func laterTriggerOfTheUserIsPutBehindOurs() throws {
        try tracker.track()
        let veto = "CREATE TRIGGER mine AFTER INSERT ON item BEGIN SELECT RAISE(IGNORE); END"
        try db.run(veto)
        #expect(try entries(after: "INSERT INTO item VALUES(2, 'hidden', 0)").isEmpty)
        try repair(.triggersOutOfOrder)
        #expect(try entries(after: "INSERT INTO item VALUES(3, 'seen', 0)").count == 1)
    }

    @Test(arguments: ["TABLE syncd_guard", "VIEW syncd_txn", "TRIGGER syncd_txn_mark"])
    func missingObjectsAreMadeAnew(_ object: String) throws {
        try tracker.track()
        try db.run("DROP \(object)")
        #expect(try !tracker.verify().isEmpty)
        try tracker.repairCapture()
        #expect(try tracker.verify().isEmpty)
        let writer = try PlainConnection(path)
        try writer.run("INSERT INTO syncd_txn(author) VALUES('me')")
        try writer.run("REPLACE INTO item(id) VALUES(1)")
        #expect(try RawLog.entries(db).map(\.kind) == [.replace, .insert])
    }

    @Test func widerKeyMakesTheGuardWider() throws {
        try tracker.track()
        let key = (1...6).map { "k\($0)" }.joined(separator: ", ")
        try db.run("CREATE TABLE wide(\(key), v, PRIMARY KEY(\(key)))")
        try tracker.track()
        try db.run("INSERT INTO wide VALUES(1,2,3,4,5,6,'old')")
        let entries = try entries(after: "REPLACE INTO wide VALUES(1,2,3,4,5,6,'new')")
        #expect(entries.map(\.kind) == [.replace, .insert] && entries[0].kept == [6: "old"])
    }

    // MARK: Ending it

    @Test func partialUntrackKeepsTheHistoryOfTheOthers() throws {
        try tracker.track()
        try db.run("UPDATE item SET b = 5; INSERT INTO other VALUES('k', 1)")
        try tracker.untrack(entities: .only(["ITEM"]))
        #expect(try RawLog.entries(db).map(\.entity) == [1, 2])
        #expect(try entries(after: "UPDATE item SET b = 6; DELETE FROM other").map(\.entity) == [2])
        #expect(try tracker.verify().isEmpty)
        #expect(throws: SyncError(.unknownEntity, "")) {
            try tracker.untrack(entities: .only(["item"]))
        }
        try tracker.track()
        #expect(try entries(after: "UPDATE item SET b = 7").map(\.entity) == [3], "a new number")
        try tracker.untrack(entities: .except(["item"]))
        #expect(try db.rows("SELECT id FROM syncd_entity WHERE retired = 0") == [[3]])
    }

    @Test func untrackAfterSchemaChangesLeavesNoTrace() throws {
        try tracker.track()
        try db.run(
            "ALTER TABLE item RENAME TO thing; ALTER TABLE thing ADD COLUMN c; DROP TABLE other")
        try tracker.untrack()
        #expect(try db.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'syncd%'").isEmpty)
        #expect(throws: SyncError(.notTracked, "")) { try tracker.verify() }
        #expect(throws: SyncError(.notTracked, "")) { try tracker.untrack() }
    }

    @Test(arguments: [
        "TABLE syncd_notes(a)", "VIEW syncd_v AS SELECT 1", "INDEX SYNCD_i ON item(a)",
        "TRIGGER syncd_1_i AFTER INSERT ON item BEGIN SELECT 1; END", "TABLE syncd_log(a)",
    ])
    func objectsOfTheUserNamedLikeOursRefuse(_ object: String) throws {
        try db.run("CREATE \(object)")
        let before = try db.dump()
        #expect(throws: SyncError(.cannotTrack, "")) { try tracker.track() }
        #expect(throws: SyncError(.notTracked, "")) { try tracker.untrack() }
        #expect(try db.dump() == before)
    }

    @Test func unknownNamesRefuse() throws {
        #expect(throws: SyncError(.unknownEntity, "")) {
            try tracker.track(entities: .only(["nothing"]))
        }
        #expect(throws: SyncError(.invalidArgument, "")) {
            try tracker.track(options: ["item": CaptureOptions(kept: .columns(["nothing"]))])
        }
        #expect(try db.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'syncd%'").isEmpty)
    }
}

extension Value {
    fileprivate var integer: Int64? {
        if case .integer(let number) = self { return number }
        return nil
    }
}
