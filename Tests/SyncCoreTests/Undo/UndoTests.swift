import Testing

@testable import SyncCore

@Suite struct UndoTests {
    private let database: TestDatabase
    private let store: Store

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT)",
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER,
              artist INTEGER REFERENCES artist ON DELETE CASCADE, label INTEGER REFERENCES label)
            """,
            "CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            "INSERT INTO artist VALUES (1, 'a'), (2, 'b')", "INSERT INTO label VALUES (7, 'l')",
            "INSERT INTO album VALUES (10, 'ten', 1980, 1, 7), (20, 'twenty', 1990, 2, NULL)")
        store = try database.store(["album": CaptureOptions(undo: true)])
    }

    private func last() throws -> Transaction { try #require(try store.history().last) }

    @Test func revertTakesAWholeTransactionBack() throws {
        let before =
            try database.rows("SELECT * FROM album") + database.rows("SELECT * FROM artist")
        try database.sql(
            """
            BEGIN; UPDATE album SET title = 'x', year = 1 WHERE id = 20;
            DELETE FROM artist WHERE id = 1;
            INSERT INTO artist VALUES (3, 'c'); COMMIT
            """)
        let report = try store.revert(last().number, author: "me")
        #expect(report.refusals.isEmpty)
        #expect(
            try database.rows("SELECT * FROM album") + database.rows("SELECT * FROM artist")
                == before)
        let reverted = try last()
        #expect(reverted.token == report.token)
        #expect(reverted.author == "me")
        #expect(reverted.context?.hasPrefix("revert of") == true)
    }

    @Test func revertOfARevertBringsTheChangeBack() throws {
        try database.sql("UPDATE album SET title = 'x' WHERE id = 10")
        try store.revert(last().number)
        try store.revert(last().number)
        #expect(try database.rows("SELECT title FROM album WHERE id = 10") == [["x"]])
    }

    @Test func revertLeavesWhatLaterChangesStandOn() throws {
        try database.sql("UPDATE album SET title = 'x', year = 1 WHERE id = 10")
        let number = try last().number
        try database.sql("UPDATE album SET title = 'y' WHERE id = 10")
        let later = try last().number
        let report = try store.revert(number)
        #expect(report.steps.map(\.properties) == [["year"]])
        #expect(report.refusals.map(\.properties) == [["title"]])
        #expect(report.refusals.first?.blockedBy == later)
        #expect(try database.rows("SELECT title, year FROM album WHERE id = 10") == [["y", 1980]])
    }

    @Test func revertSaysWhereOldValuesAreNotKept() throws {
        try database.sql("UPDATE artist SET name = 'x' WHERE id = 1")
        let report = try store.revert(last().number)
        #expect(report.steps.isEmpty)
        #expect(report.token == nil)
        #expect(report.refusals.first?.properties == ["name"])
    }

    @Test func revertThatBreaksAConstraintWritesNothing() throws {
        try database.sql("INSERT INTO artist VALUES (3, 'c')")
        let number = try last().number
        try database.sql("INSERT INTO album VALUES (30, 'thirty', 2000, NULL, 7)")
        try database.sql("INSERT INTO label VALUES (8, 'm')")
        let label = try last().number
        try database.sql("UPDATE album SET label = 8 WHERE id = 30")
        #expect(throws: SyncError(.refused, "")) { try store.revert(label) }
        #expect(try database.rows("SELECT count(*) FROM label") == [[2]])
        _ = try store.revert(number)
        #expect(try database.rows("SELECT count(*) FROM artist") == [[2]])
        #expect(throws: SyncError(.invalidArgument, "")) { try store.revert(99_999) }
    }

    @Test func restoreBringsAnObjectAndItsCascadesBack() throws {
        let before = try database.rows("SELECT * FROM album")
        try database.sql("DELETE FROM artist WHERE id = 1")
        let report = try store.restore(.init(path: "artist/1"))
        #expect(report.steps.map(\.object.path) == ["artist/1", "album/10"])
        #expect(try database.rows("SELECT * FROM album") == before)
    }

    @Test func restoreKeepsOnlyReferencesThatStillLeadSomewhere() throws {
        try database.sql("DELETE FROM album WHERE id = 10; DELETE FROM label")
        let report = try store.restore(.init(path: "album/10"))
        #expect(report.refusals.map(\.properties) == [["label"]])
        #expect(try database.rows("SELECT artist, label FROM album WHERE id = 10") == [[1, .null]])
        #expect(throws: SyncError(.refused, "")) { try store.restore(.init(path: "album/10")) }
        #expect(throws: SyncError(.unknownObject, "")) {
            try store.restore(.init(path: "album/20"))
        }
    }

    @Test(arguments: [false, true]) func asOfShowsEveryStateThatWas(digests: Bool) throws {
        let name = try HistoryQuery.ObjectName(path: "album/10")
        var states: [(Token, [[Value]])] = []
        let statements = [
            "UPDATE album SET title = 'x' WHERE id = 10", "UPDATE album SET year = 2 WHERE id = 10",
            "DELETE FROM album WHERE id = 10", "INSERT INTO album VALUES (10, 'again', 3, 2, NULL)",
            "UPDATE album SET title = 'y', artist = 1 WHERE id = 10",
        ]
        states.append((try store.head(), try database.rows("SELECT * FROM album WHERE id = 10")))
        for statement in statements {
            try database.sql(statement)
            states.append(
                (try store.head(), try database.rows("SELECT * FROM album WHERE id = 10")))
        }
        if digests { _ = try store.digest() }
        for (token, rows) in states {
            let past = try store.object(name, asOf: token)
            #expect(past.isPresent == !rows.isEmpty)
            #expect(past.values.pairs.map(\.value) == rows.first ?? [])
            #expect(past.unknown.isEmpty)
        }
    }

    @Test func asOfNamesWhatIsUnknown() throws {
        let token = try store.head()
        try database.sql("UPDATE artist SET name = 'x' WHERE id = 1")
        let past = try store.object(.init(path: "artist/1"), asOf: token)
        #expect(past.unknown == ["name"])
        #expect(past.values["name"] == nil)
    }
}
