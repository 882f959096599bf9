import Testing

@testable import SyncCore
@testable import SyncValues

/// Positions and undo after tables and columns got other names: history has those of then, the
/// tables those of now.
@Suite struct RenamedUndoTests {
    enum Way: CaseIterable { case alter, program }

    /// `album` with the transactions 2 (two rows), an update of the second, a delete of the first.
    private func stage(_ mode: UndoMode) throws -> (stage: UndoStage, start: Token) {
        let stage = try UndoStage(
            mode, ["album": CaptureOptions(undo: true)],
            "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INT)")
        try stage.write("INSERT INTO album VALUES (1, 'x', 1990), (2, 'y', 1991)")
        let start = try stage.store.head()
        try stage.write("UPDATE album SET title = 'Y' WHERE id = 2")
        try stage.write("DELETE FROM album WHERE id = 1")
        return (stage, start)
    }

    private func change(_ stage: UndoStage, _ way: Way, _ sql: String) throws {
        switch way {
        case .alter: try Store.alter(stage.database.path, running: sql)
        case .program:
            try stage.database.sql(sql)
            _ = try stage.store.repairCapture()
        }
    }

    private func rows(_ stage: UndoStage, _ table: String = "album") throws -> [[Value]] {
        try stage.database.rows("SELECT * FROM \(table) ORDER BY 1")
    }

    @Test(arguments: UndoMode.all, Way.allCases)
    func aRenamedColumnIsFollowed(_ mode: UndoMode, way: Way) throws {
        let (stage, start) = try stage(mode)
        let update = try stage.store.history().first { $0.changes.first?.kind == .update }
        try change(stage, way, "ALTER TABLE album RENAME COLUMN title TO name")
        let difference = try stage.store.difference(from: start, to: stage.store.head())
        #expect(difference.objects.map(\.object.key.description).sorted() == ["1", "2"])
        let second = try #require(difference.objects.first { $0.object.key.description == "2" })
        #expect(second.before.values["name"] == "y" && second.after.values["name"] == "Y")
        let past = try stage.store.object(.init(path: "album/1"), asOf: start)
        #expect(past.values["name"] == "x" && past.unknown.isEmpty)
        #expect(try stage.store.revert(#require(update).number).isComplete)
        #expect(try stage.store.restore(.init(path: "album/1")).isComplete)
        #expect(try rows(stage) == [[1, "x", 1990], [2, "y", 1991]])
    }

    @Test(arguments: UndoMode.all)
    func exchangedColumnsKeepTheirValues(_ mode: UndoMode) throws {
        let (stage, _) = try stage(mode)
        let update = try stage.store.history().first { $0.changes.first?.kind == .update }
        try change(
            stage, .alter,
            """
            ALTER TABLE album RENAME COLUMN title TO tmp;
            ALTER TABLE album RENAME COLUMN year TO title;
            ALTER TABLE album RENAME COLUMN tmp TO year
            """)
        #expect(try stage.store.revert(#require(update).number).isComplete)
        #expect(try stage.store.restore(.init(path: "album/1")).isComplete)
        #expect(try rows(stage) == [[1, "x", 1990], [2, "y", 1991]])
    }

    @Test(arguments: UndoMode.all, Way.allCases)
    func aRenamedTableIsFollowed(_ mode: UndoMode, way: Way) throws {
        let (stage, start) = try stage(mode)
        let update = try stage.store.history().first { $0.changes.first?.kind == .update }
        try change(stage, way, "ALTER TABLE album RENAME TO record")
        let difference = try stage.store.difference(from: start, to: stage.store.head())
        #expect(difference.objects.map(\.object.entity) == ["record", "record"])
        #expect(difference.untracked.isEmpty)
        for name in ["album", "Record"] {
            var query = HistoryQuery()
            query.entities = [name]
            #expect(try stage.store.history(query).count == 3, "\(name)")
            query.entities = []
            query.object = try ObjectName(path: "\(name)/2")
            #expect(try stage.store.history(query).count == 2, "\(name)")
        }
        let past = try stage.store.object(.init(path: "record/2"), asOf: start)
        #expect(past.values["title"] == "y")
        #expect(try stage.store.object(.init(path: "record/1"), asOf: start).isPresent)
        #expect(try stage.store.revert(#require(update).number).isComplete)
        #expect(try stage.store.restore(.init(path: "record/1")).isComplete)
        #expect(try rows(stage, "record") == [[1, "x", 1990], [2, "y", 1991]])
        #expect(try stage.store.erase(.init(path: "record/1")).tombstones == 1)
    }

    /// The table that has the name now is not the one that was renamed to it.
    @Test(arguments: UndoMode.all)
    func aTableThatWasDroppedUnderANewNameWasThere(_ mode: UndoMode) throws {
        let stage = try UndoStage(
            mode, ["b": CaptureOptions(undo: true)], "CREATE TABLE b(id INTEGER PRIMARY KEY, v)")
        let start = try stage.store.head()
        try stage.write("INSERT INTO b VALUES (1, 1)")
        let first = try stage.store.head()
        try stage.write("UPDATE b SET v = 2")
        try change(stage, .program, "ALTER TABLE b RENAME TO c")
        try stage.write("UPDATE c SET v = 3")
        try change(stage, .program, "DROP TABLE c")
        try change(stage, .program, "CREATE TABLE c(id INTEGER PRIMARY KEY, v)")
        try stage.write("INSERT INTO c VALUES (1, 9)")
        try stage.write("DELETE FROM c")
        #expect(try stage.store.difference(from: start, to: stage.store.head()).objects.isEmpty)
        let past = try stage.store.object(.init(path: "c/1"), asOf: first)
        #expect(past.isPresent && past.values["v"] != 2)
        #expect(try !stage.store.object(.init(path: "c/1"), asOf: start).isPresent)
    }

    @Test(arguments: UndoMode.all)
    func columnsThatCameAndWentAreNoObstacle(_ mode: UndoMode) throws {
        let (stage, start) = try stage(mode)
        try change(
            stage, .alter,
            """
            ALTER TABLE album DROP COLUMN year;
            ALTER TABLE album ADD COLUMN label TEXT NOT NULL DEFAULT 'none'
            """)
        let past = try stage.store.object(.init(path: "album/2"), asOf: start)
        #expect(past.values["title"] == "y")
        let report = try stage.store.restore(.init(path: "album/1"))
        #expect(report.steps.count == 1)
        #expect(report.refusals.map(\.properties) == [["year"]])
        #expect(try rows(stage) == [[1, "x", "none"], [2, "Y", "none"]])
    }

    /// What had another key is another object.
    @Test(arguments: UndoMode.all)
    func objectsOfAFormerKeyAreNamed(_ mode: UndoMode) throws {
        let (stage, start) = try stage(mode)
        try change(
            stage, .program,
            """
            BEGIN; CREATE TABLE n(id INTEGER, title TEXT PRIMARY KEY, year INT);
            INSERT INTO n SELECT * FROM album; DROP TABLE album;
            ALTER TABLE n RENAME TO album; COMMIT
            """)
        let difference = try stage.store.difference(from: start, to: stage.store.head())
        let gone = difference.objects.filter { !$0.after.isPresent }
        #expect(gone.map(\.object.key.description).sorted() == ["1", "2"])
        #expect(difference.objects.contains { $0.after.isPresent })
    }

    /// What a change left is found although another table, and another column, has its name now.
    @Test(arguments: UndoMode.all, Way.allCases)
    func newValuesAreThoseOfTheSameTableAndColumn(_ mode: UndoMode, way: Way) throws {
        let stage = try UndoStage(
            mode, ["a": CaptureOptions(undo: true), "b": CaptureOptions(undo: true)],
            """
            CREATE TABLE a(id INTEGER PRIMARY KEY, v, w);
            CREATE TABLE b(id INTEGER PRIMARY KEY, v, w);
            INSERT INTO a VALUES (1, 'a1', 'w'); INSERT INTO b VALUES (1, 'b1', 'w')
            """)
        try stage.write("UPDATE a SET v = 'a2'")
        try stage.write("UPDATE b SET v = 'b2'")
        try stage.write("INSERT INTO b VALUES (2, 'new', 'w')")
        try change(
            stage, way,
            """
            BEGIN; ALTER TABLE a RENAME TO tmp; ALTER TABLE b RENAME TO a;
            ALTER TABLE tmp RENAME TO b; ALTER TABLE a RENAME COLUMN v TO x;
            ALTER TABLE a RENAME COLUMN w TO v; COMMIT
            """)
        try stage.write("UPDATE a SET x = 'b3' WHERE id = 1; UPDATE b SET v = 'a3'")
        var told: [String] = []
        for transaction in try stage.store.history() {
            let new = try stage.store.newValues(of: transaction.changes, asOf: transaction.token)
            for change in transaction.changes {
                let values = new[change.seq]?.pairs.map { "\($0.name) \($0.value)" } ?? []
                told.append("\(change.object.path): \(values.joined(separator: ", "))")
            }
        }
        #expect(
            told == [
                "a/1: v 'a2'", "b/1: v 'b2'", "b/2: id 2, x 'new', v 'w'", "a/1: x 'b3'",
                "b/1: v 'a3'",
            ], "\(mode), \(way)")
    }

    /// The name of a deleted object may belong to a table that was made later.
    @Test(arguments: UndoMode.all, Way.allCases)
    func restoreNamesTheTableOfTheDeletedObject(_ mode: UndoMode, way: Way) throws {
        let (stage, _) = try stage(mode)
        try change(
            stage, way,
            """
            ALTER TABLE album RENAME TO record;
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT)
            """)
        let error = #expect(throws: SyncError.self) {
            try stage.store.restore(.init(path: "album/1"))
        }
        #expect(error?.code == .unknownObject)
        #expect(error?.hint?.contains("record/1") == true, "\(error?.hint ?? "")")
        #expect(try stage.store.restore(.init(path: "record/1")).isComplete)
    }
}
