import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Triggers that record every change and are not of today's form: they are created again, and
/// nothing is compared.
@Suite struct EarlierTriggersTests {
    let folder: TemporaryFolder
    let path: String
    let db: PlainConnection
    let tracker: Tracker

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("earlier.db")
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
        let last = try db.integer("SELECT coalesce(max(seq), 0) FROM syncd_log")
        try db.run(sql)
        return try RawLog.entries(db, after: last)
    }

    /// A store of the version before: other texts, and nothing that says their version.
    private func makeOlder() throws {
        try db.run("DELETE FROM syncd_meta WHERE key = 'triggers'")
        let name = TriggerName(entity: 1, letter: "d")
        try db.run(
            """
            DROP TRIGGER \(name.text); CREATE TRIGGER \(name.short) AFTER DELETE ON item BEGIN
              INSERT INTO syncd_log(op, ts, pk, v0, v1) VALUES(11, julianday('now'), OLD.id, OLD.a,
                OLD.b); END;
            """)
        let version = try db.value("PRAGMA schema_version").description
        try db.run("UPDATE syncd_meta SET value = \(version) WHERE key = 'schema'")
    }

    @Test func triggersOfAnEarlierVersionAreCreatedAgainWithoutAComparison() throws {
        try tracker.track()
        try makeOlder()
        let finding = CaptureFinding(entity: 1, table: "item", problem: .triggersWithoutCauses)
        #expect(try tracker.verify() == [finding])
        #expect(!finding.mayHaveLostChanges)
        let report = try tracker.repairCapture()
        #expect(report.findings == [finding])
        #expect(report.uncompared.isEmpty && report.recoveredCount == 0)
        #expect(try tracker.verify().isEmpty)
        #expect(try db.value("SELECT count(*) FROM syncd_log") == 0)
        #expect(try db.value("SELECT count(*) FROM syncd_entity") == 2, "the same entity")
    }

    /// A store of which every trigger has its former name: none is left beside the new one.
    @Test func triggersThatDoNotNameTheCommandAreReplaced() throws {
        try tracker.track()
        let count = try db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")
        for trigger in try tracker.queue.read({ try PresentTrigger.all($0) }) {
            let short = try #require(TriggerName(trigger.name)).short
            try db.run(
                "DROP TRIGGER \(trigger.name); \(trigger.sql.replacing(trigger.name, with: short))")
        }
        let version = try db.value("PRAGMA schema_version").description
        try db.run(
            """
            UPDATE syncd_meta SET value = \(version) WHERE key = 'schema';
            UPDATE syncd_meta SET value = 2 WHERE key = 'triggers';
            """)
        try Store.track(path)
        #expect(try tracker.verify().isEmpty)
        let names = try db.strings(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'syncd_[0-9]*'")
        #expect(names.allSatisfy { $0.hasSuffix("_use_synctool_migrate") })
        #expect(
            try db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'") == count)
        #expect(try db.value("SELECT count(*) FROM syncd_log") == 0)
        #expect(
            try entries(after: "UPDATE item SET a = 'y'; DELETE FROM item").map(\.kind)
                == [.update, .delete])
    }

    @Test func trackingAgainCreatesTheTriggersOfAnEarlierVersionAgain() throws {
        try tracker.track()
        try makeOlder()
        try Store.track(path)
        #expect(try tracker.verify().isEmpty)
    }

    /// Nothing says then that they were right.
    @Test func changedSchemaWithTriggersOfAnEarlierVersionIsCompared() throws {
        try tracker.track()
        try makeOlder()
        try db.run("CREATE VIEW later AS SELECT 1")
        #expect(try tracker.verify().map(\.problem) == [.triggersOutdated])
    }

    @Test func tableThatComesToReferAddsATriggerToItsParentWithoutAComparison() throws {
        try tracker.track()
        try db.run(
            "CREATE TABLE child(id INTEGER PRIMARY KEY, p REFERENCES item ON DELETE CASCADE)")
        let report = try tracker.repairCapture()
        #expect(report.findings.map(\.problem) == [.triggersWithoutCauses, .newTable])
        #expect(report.uncompared.isEmpty)
        #expect(try tracker.verify().isEmpty)
        try db.run("PRAGMA foreign_keys = ON; INSERT INTO child VALUES(7, 1)")
        #expect(
            try entries(after: "DELETE FROM item").map(\.kind) == [.deleting, .delete, .delete])
        try db.run("DROP TABLE child")
        #expect(
            try tracker.repairCapture().findings.map(\.problem)
                == [.triggersWithoutCauses, .tableDropped])
    }

    @Test func everyTriggerOfATableThatRefersToItselfIsKnown() throws {
        try db.run(
            "CREATE TABLE tree(id INTEGER PRIMARY KEY, up REFERENCES tree ON DELETE CASCADE, n)")
        try tracker.track()
        try db.run("CREATE UNIQUE INDEX u ON tree(n)")
        #expect(try tracker.repairCapture().findings.map(\.table) == ["tree"])
        #expect(try tracker.verify().isEmpty)
        try tracker.untrack()
        let names = try db.strings("SELECT name FROM sqlite_schema WHERE name GLOB 'syncd_*'")
        #expect(names.isEmpty)
    }
}
