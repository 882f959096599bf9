import Foundation
import SyncTesting
import Testing

@testable import SyncCore

@Suite struct TrackTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.db")
    }

    @Test func reportsEveryTableWithTheReason() throws {
        let db = try PlainConnection(path)
        try db.run(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title);
            CREATE TABLE keyless(a, b);
            CREATE VIEW shown AS SELECT * FROM item;
            CREATE VIRTUAL TABLE words USING fts5(w);
            CREATE TABLE other(k TEXT PRIMARY KEY);
            """)
        let report = try Tracker(path: path).track(entities: .except(["OTHER"]))
        #expect(report.tracked == ["item"])
        let reasons = Dictionary(
            uniqueKeysWithValues: report.leftAlone.map { ($0.table, $0.reason) })
        #expect(reasons["keyless"] == .noDeclaredKey)
        #expect(reasons["shown"] == .view)
        #expect(reasons["words"] == .virtual)
        #expect(reasons["words_data"] == .shadow)
        #expect(reasons["other"] == .filteredOut)
        #expect(reasons["sqlite_schema"] == .internal)
        #expect(report.store.bytes.count == 16 && report.replica.bytes.count == 16)
    }

    @Test func trackingTwiceChangesNothing() throws {
        let db = try PlainConnection(path)
        try db.run("CREATE TABLE item(id INTEGER PRIMARY KEY, title)")
        let first = try Tracker(path: path).track()
        let dump = try db.dump()
        let second = try Tracker(path: path).track()
        #expect(first.store == second.store && first.replica == second.replica)
        #expect(second.entries.contains { $0.outcome == .alreadyTracked(entity: 1) })
        #expect(try db.dump() == dump)
    }

    @Test func recordsInsertUpdateAndDelete() throws {
        let db = try PlainConnection(path)
        try db.run("CREATE TABLE item(id INTEGER PRIMARY KEY, title, done)")
        try Tracker(path: path).track()
        try db.run("INSERT INTO item VALUES(7, 'a', 0)")
        try db.run("UPDATE item SET done = 1; UPDATE item SET done = 1")
        try db.run("DELETE FROM item")
        let entries = try RawLog.entries(db)
        #expect(entries.map(\.kind) == [.insert, .update, .delete])
        #expect(entries[1].changed == [2])
        #expect(entries[2].kept == [1: "a", 2: 1])
    }

    /// What was chosen for all tables holds for those that come later.
    @Test func aNewTableIsRecordedLikeTheOthers() throws {
        let db = try PlainConnection(path)
        try db.run("CREATE TABLE a(id INTEGER PRIMARY KEY, v)")
        let choice = CaptureChoice(undo: ["*"], keepsValues: false)
        _ = try Store.track(path, choosing: choice)
        try db.run("CREATE TABLE b(id INTEGER PRIMARY KEY, v)")
        _ = try Store.mend(path)
        try db.run("CREATE TABLE c(id INTEGER PRIMARY KEY, v)")
        _ = try Store.track(path)
        let live = try Tracker(path: path).queue.read { try EntityTable($0).live() }
        #expect(live.map(\.name).sorted() == ["a", "b", "c"])
        for entity in live {
            #expect(entity.layout.options() == CaptureOptions(kept: .none, undo: true))
        }
    }

    @Test func untrackLeavesNoTrace() throws {
        let db = try PlainConnection(path)
        try db.run(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY AUTOINCREMENT, title UNIQUE);
            CREATE TABLE pair(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID;
            INSERT INTO item(title) VALUES('x'), ('y');
            """)
        let before = try db.dump()
        let tracker = try Tracker(path: path)
        try tracker.track()
        try tracker.untrack()
        #expect(try db.dump() == before)
    }
}
