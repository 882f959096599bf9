import Testing

@testable import SyncCore
@testable import SyncValues

@Suite struct UndoTests {
    private func stage(_ mode: UndoMode) throws -> UndoStage {
        try UndoStage(
            mode, ["album": CaptureOptions(undo: true)],
            "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT)",
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER,
              artist INTEGER REFERENCES artist ON DELETE CASCADE, label INTEGER REFERENCES label)
            """,
            "CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            "INSERT INTO artist VALUES (1, 'a'), (2, 'b')", "INSERT INTO label VALUES (7, 'l')",
            "INSERT INTO album VALUES (10, 'ten', 1980, 1, 7), (20, 'twenty', 1990, 2, NULL)")
    }

    @Test(arguments: UndoMode.all) func revertTakesAWholeTransactionBack(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        let before =
            try database.rows("SELECT * FROM album") + database.rows("SELECT * FROM artist")
        try stage.write(
            """
            BEGIN; UPDATE album SET title = 'x', year = 1 WHERE id = 20;
            DELETE FROM artist WHERE id = 1;
            INSERT INTO artist VALUES (3, 'c'); COMMIT
            """)
        let report = try store.revert(stage.last().number, author: "me")
        #expect(report.refusals.isEmpty)
        #expect(
            try database.rows("SELECT * FROM album") + database.rows("SELECT * FROM artist")
                == before)
        let reverted = try stage.last()
        #expect(reverted.token == report.token)
        #expect(reverted.author == "me")
        #expect(reverted.context?.hasPrefix("revert of") == true)
    }

    @Test(arguments: UndoMode.all) func revertOfARevertBringsTheChangeBack(_ mode: UndoMode) throws
    {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        try stage.write("UPDATE album SET title = 'x' WHERE id = 10")
        try store.revert(stage.last().number)
        try store.revert(stage.last().number)
        #expect(try database.rows("SELECT title FROM album WHERE id = 10") == [["x"]])
    }

    @Test(arguments: UndoMode.all) func revertLeavesWhatLaterChangesStandOn(_ mode: UndoMode) throws
    {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        try stage.write("UPDATE album SET title = 'x', year = 1 WHERE id = 10")
        let number = try stage.last().number
        try stage.write("UPDATE album SET title = 'y' WHERE id = 10")
        let later = try stage.last().number
        let report = try store.revert(number)
        #expect(report.steps.map(\.properties) == [["year"]])
        #expect(report.refusals.map(\.properties) == [["title"]])
        #expect(report.refusals.first?.blockedBy == later)
        #expect(try database.rows("SELECT title, year FROM album WHERE id = 10") == [["y", 1980]])
    }

    @Test(arguments: UndoMode.all) func revertSaysWhereOldValuesAreNotKept(_ mode: UndoMode) throws
    {
        let stage = try stage(mode)
        let store = stage.store
        try stage.write("UPDATE artist SET name = 'x' WHERE id = 1")
        let report = try store.revert(stage.last().number)
        #expect(report.steps.isEmpty)
        #expect(report.token == nil)
        #expect(report.refusals.first?.properties == ["name"])
    }

    @Test(arguments: UndoMode.all) func revertThatBreaksAConstraintWritesNothing(_ mode: UndoMode)
        throws
    {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        try stage.write("INSERT INTO artist VALUES (3, 'c')")
        let number = try stage.last().number
        try stage.write("INSERT INTO album VALUES (30, 'thirty', 2000, NULL, 7)")
        try stage.write("INSERT INTO label VALUES (8, 'm')")
        let label = try stage.last().number
        try stage.write("UPDATE album SET label = 8 WHERE id = 30")
        #expect(throws: SyncError(.refused, "")) { try store.revert(label) }
        #expect(try database.rows("SELECT count(*) FROM label") == [[2]])
        _ = try store.revert(number)
        #expect(try database.rows("SELECT count(*) FROM artist") == [[2]])
        #expect(throws: SyncError(.unknownObject, "")) { try store.revert(99_999) }
    }

    @Test(arguments: UndoMode.all) func restoreBringsAnObjectAndItsCascadesBack(_ mode: UndoMode)
        throws
    {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        let before = try database.rows("SELECT * FROM album")
        try stage.write("DELETE FROM artist WHERE id = 1")
        let report = try store.restore(.init(path: "artist/1"))
        #expect(report.steps.map(\.object.path) == ["artist/1", "album/10"])
        #expect(try database.rows("SELECT * FROM album") == before)
    }

    @Test(arguments: UndoMode.all) func restoreKeepsOnlyReferencesThatStillLeadSomewhere(
        _ mode: UndoMode
    ) throws {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        try stage.write("DELETE FROM album WHERE id = 10; DELETE FROM label")
        let report = try store.restore(.init(path: "album/10"))
        #expect(report.refusals.map(\.properties) == [["label"]])
        #expect(try database.rows("SELECT artist, label FROM album WHERE id = 10") == [[1, .null]])
        #expect(throws: SyncError(.refused, "")) { try store.restore(.init(path: "album/10")) }
        #expect(throws: SyncError(.unknownObject, "")) {
            try store.restore(.init(path: "album/20"))
        }
    }

    @Test(arguments: UndoMode.all) func asOfShowsEveryStateThatWas(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        let (database, store) = (stage.database, stage.store)
        let name = try ObjectName(path: "album/10")
        var states: [(Token, [[Value]])] = []
        let statements = [
            "UPDATE album SET title = 'x' WHERE id = 10", "UPDATE album SET year = 2 WHERE id = 10",
            "DELETE FROM album WHERE id = 10", "INSERT INTO album VALUES (10, 'again', 3, 2, NULL)",
            "UPDATE album SET title = 'y', artist = 1 WHERE id = 10",
        ]
        states.append((try store.head(), try database.rows("SELECT * FROM album WHERE id = 10")))
        for statement in statements {
            try stage.write(statement)
            states.append(
                (try store.head(), try database.rows("SELECT * FROM album WHERE id = 10")))
        }
        for (token, rows) in states {
            let past = try store.object(name, asOf: token)
            #expect(past.isPresent == !rows.isEmpty)
            #expect(past.values.pairs.map(\.value) == rows.first ?? [])
            #expect(past.unknown.isEmpty)
        }
    }

    @Test func aKeyHasTheTablesNumberOfParts() throws {
        let stage = try stage(UndoMode.all[0])
        let token = try stage.store.head()
        #expect(try stage.store.object(.init(path: "album/10"), asOf: token).isPresent)
        let error = #expect(throws: SyncError.self) {
            try stage.store.object(.init(path: "album/10,2"), asOf: token)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.hint == "Write album/ID")
    }

    @Test(arguments: UndoMode.all) func asOfNamesWhatIsUnknown(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        let store = stage.store
        let token = try store.head()
        try stage.write("UPDATE artist SET name = 'x' WHERE id = 1")
        let past = try store.object(.init(path: "artist/1"), asOf: token)
        #expect(past.unknown == ["name"])
        #expect(past.values["name"] == nil)
    }

    @Test(arguments: UndoMode.all) func everyChangeOfALargeTransactionIsTakenBack(
        _ mode: UndoMode
    ) throws {
        let stage = try stage(mode)
        try stage.write(
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
            INSERT INTO album SELECT i, 'title ' || i, i, 1, NULL FROM n
            """)
        let rows = try stage.database.rows("SELECT * FROM album")
        try stage.write("UPDATE album SET title = 'OOPS', year = NULL")
        let report = try stage.store.revert(stage.last().number)
        #expect(report.isComplete)
        #expect(report.steps.count == 1403)
        #expect(try stage.database.rows("SELECT * FROM album") == rows)
    }

    @Test(arguments: UndoMode.all) func anInsertedObjectThatOthersReferToStays(
        _ mode: UndoMode
    ) throws {
        let stage = try stage(mode)
        try stage.write("INSERT INTO artist VALUES (3, 'c')")
        let number = try stage.last().number
        try stage.write("INSERT INTO album VALUES (30, 'thirty', 2000, 3, NULL)")
        let report = try stage.store.revert(number)
        #expect(!report.isComplete)
        #expect(report.token == nil)
        #expect(report.refusals.map(\.reason) == ["album/30 refers to it"])
        #expect(try stage.database.rows("SELECT id FROM album WHERE artist = 3") == [[30]])
    }

    @Test(arguments: UndoMode.all) func aRevertThatBreaksAReferenceNamesIt(_ mode: UndoMode) throws
    {
        let stage = try stage(mode)
        try stage.write("DELETE FROM artist WHERE id = 1")
        let number = try stage.last().number
        try stage.write("DELETE FROM label")
        do {
            try stage.store.revert(number)
            Issue.record("album/10 refers to a label that is gone")
        } catch let error as SyncError {
            #expect(error.code == .refused)
            #expect(error.reason.contains("album/10"), "\(error)")
            #expect(error.hint?.contains("synctool restore") == true, "\(error)")
        }
        #expect(try stage.database.rows("SELECT * FROM artist WHERE id = 1").isEmpty)
    }

    @Test(arguments: UndoMode.all) func conflictClausesOfATableDoNotHideWhatIsRefused(
        _ mode: UndoMode
    ) throws {
        let stage = try UndoStage(
            mode, [:],
            """
            CREATE TABLE name(id INTEGER PRIMARY KEY, a TEXT UNIQUE ON CONFLICT IGNORE,
              b TEXT UNIQUE ON CONFLICT REPLACE)
            """, "INSERT INTO name VALUES (1, 'x', 'one'), (2, 'y', 'two')")
        try stage.write("DELETE FROM name WHERE id = 1")
        try stage.write("DELETE FROM name WHERE id = 2")
        try stage.write("INSERT INTO name VALUES (3, 'x', 'two')")
        for object in ["name/1", "name/2"] {
            #expect(throws: SyncError(.refused, "")) {
                try stage.store.restore(.init(path: object))
            }
        }
        #expect(try stage.database.rows("SELECT * FROM name") == [[3, "x", "two"]])
    }

    /// What refuses a row names it, and what stays as it is and has the value.
    @Test(arguments: UndoMode.all) func aRevertThatAConstraintRefusesNamesWhatIsInTheWay(
        _ mode: UndoMode
    ) throws {
        let stage = try UndoStage(
            mode, ["p": CaptureOptions(undo: true)],
            "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE)",
            "INSERT INTO p VALUES (1, 'a'), (2, 'b')")
        try stage.write("UPDATE OR REPLACE p SET name = 'a' WHERE id = 2")
        let number = try stage.last().number
        try stage.write("UPDATE p SET name = 'c' WHERE id = 2")
        try stage.write("UPDATE p SET name = 'a' WHERE id = 2")
        let newer = try stage.store.history().filter { $0.number > number }.map(\.number)
        do {
            try stage.store.revert(number)
            Issue.record("two rows would have the name")
        } catch let error as SyncError {
            #expect(error.code == .refused)
            #expect(error.reason.hasPrefix("p/1 cannot be what it was: UNIQUE"), "\(error)")
            #expect(
                error.reason.hasSuffix(
                    "p/2 stays as it is: it was changed again, by transaction \(newer[0])"),
                "\(error)")
        }
        #expect(try stage.database.rows("SELECT * FROM p") == [[2, "a"]])
    }

    /// Objects that refer to themselves, or to each other in a circle, come back as they were.
    @Test(arguments: UndoMode.all, ["", "NOT NULL"])
    func referencesInACircleComeBack(_ mode: UndoMode, condition: String) throws {
        let stage = try UndoStage(
            mode, [:],
            """
            CREATE TABLE node(id INTEGER PRIMARY KEY,
              p INTEGER \(condition) REFERENCES node(id) ON DELETE CASCADE)
            """, "INSERT INTO node VALUES (1, 1), (5, 6), (6, 7), (7, 5)")
        let rows = try stage.database.rows("SELECT * FROM node")
        try stage.write("DELETE FROM node WHERE id = 1")
        #expect(try stage.store.restore(.init(path: "node/1")).isComplete)
        try stage.write("PRAGMA foreign_keys = ON; DELETE FROM node WHERE id = 5")
        #expect(try stage.database.rows("SELECT id FROM node") == [[1]])
        let report = try stage.store.restore(.init(path: "node/5"))
        #expect(report.isComplete && report.steps.count == 3)
        #expect(try stage.database.rows("SELECT * FROM node") == rows)
    }

    @Test(arguments: UndoMode.all) func aReplaceOfARowThatIsNotKeptIsNotTakenForNull(
        _ mode: UndoMode
    ) throws {
        let stage = try UndoStage(
            mode, ["name": CaptureOptions(kept: .none, undo: true)],
            "CREATE TABLE name(id INTEGER PRIMARY KEY, a TEXT)", "INSERT INTO name VALUES (1, 'x')")
        try stage.write("REPLACE INTO name VALUES (1, 'y')")
        let report = try stage.store.revert(stage.last().number)
        #expect(report.steps.isEmpty)
        #expect(report.refusals.map(\.properties) == [["a"]])
        #expect(try stage.database.rows("SELECT a FROM name") == [["y"]])
    }
}
