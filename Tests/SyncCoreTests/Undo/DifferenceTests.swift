import Testing

@testable import SyncCore
@testable import SyncValues

/// The net difference of two positions, and values that are taken out of history.
@Suite struct DifferenceTests {
    private func stage(_ mode: UndoMode) throws -> UndoStage {
        try UndoStage(
            mode, ["t": CaptureOptions(undo: true)],
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)",
            "CREATE TABLE gone(id INTEGER PRIMARY KEY)",
            "INSERT INTO t VALUES (1, 'a', 'b'), (2, 'a', 'b'), (3, 'a', 'b')")
    }

    @Test(arguments: UndoMode.all) func onlyTheNetDifferenceIsShown(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        let store = stage.store
        let start = try store.head()
        try stage.write("UPDATE t SET a = 'x' WHERE id = 1")
        try stage.write("UPDATE t SET a = 'a', b = 'y' WHERE id = 1")
        let middle = try store.head()
        try stage.write("DELETE FROM t WHERE id = 2")
        try stage.write("INSERT INTO t VALUES (2, 'a', 'b')")
        try stage.write("INSERT INTO t VALUES (4, 1, 2)")
        try stage.write("DELETE FROM t WHERE id IN (3, 4)")
        try stage.write("INSERT INTO t VALUES (5, 1, 2)")
        let difference = try store.difference(from: start, to: store.head())
        #expect(difference.objects.map(\.object.key.description) == ["1", "3", "5"])
        #expect(difference.objects[0].properties == ["b"])
        #expect(difference.objects[0].before.values["b"] == "b")
        #expect(difference.objects[0].after.values["b"] == "y")
        #expect(!difference.objects[1].after.isPresent && !difference.objects[2].before.isPresent)
        #expect(try store.difference(from: start, to: middle).objects.count == 1)
        #expect(try store.difference(from: middle, to: middle).objects.isEmpty)
    }

    /// Another spelling of a key is another name in history.
    @Test(arguments: UndoMode.all) func aKeySpelledOtherwiseIsCountedOnce(_ mode: UndoMode) throws {
        let stage = try UndoStage(
            mode, ["k": CaptureOptions(undo: true)],
            "CREATE TABLE k(id TEXT COLLATE NOCASE PRIMARY KEY, a)",
            "INSERT INTO k VALUES ('abc', 1), ('x', 1), ('same', 1)")
        let start = try stage.store.head()
        try stage.write("UPDATE k SET id = 'ABC' WHERE id = 'abc'")
        try stage.write("REPLACE INTO k VALUES ('X', 3)")
        try stage.write("UPDATE k SET a = 2 WHERE id = 'SAME'")
        let difference = try stage.store.difference(from: start, to: stage.store.head())
        let names = difference.objects.map {
            ($0.before.isPresent ? "-" : "") + ($0.after.isPresent ? "+" : "")
                + $0.object.key.description
        }
        #expect(names.sorted() == ["+ABC", "+X", "-+same", "-abc", "-x"])
    }

    @Test func entitiesThatAreGoneAreNamed() throws {
        let stage = try stage(UndoMode(digests: .always, wal: true))
        let start = try stage.store.head()
        try stage.write("INSERT INTO gone VALUES (1)")
        try stage.write("UPDATE t SET a = 1 WHERE id = 1")
        try Store.alter(stage.database.path, running: "DROP TABLE gone")
        try stage.store.reloadEntities()
        let difference = try stage.store.difference(from: start, to: stage.store.head())
        #expect(difference.untracked == ["gone"])
        #expect(difference.objects.map(\.object.key.description) == ["1"])
    }

    @Test(arguments: UndoMode.all) func anErasedObjectHasNoValuesInHistory(_ mode: UndoMode) throws
    {
        let stage = try stage(mode)
        let store = stage.store
        let secret = "a secret of one person"
        try stage.write("UPDATE t SET a = '\(secret)' WHERE id = 1")
        try stage.write("UPDATE t SET a = 'public', b = 'c' WHERE id = 1")
        try stage.write("UPDATE t SET b = 'other' WHERE id = 2")
        try stage.write("UPDATE t SET a = '\(secret)' WHERE id = 1; DELETE FROM t WHERE id = 1")
        let before = try store.history().map(\.summary)
        let report = try store.erase(.init(path: "T/1"))
        #expect(report.tombstones == 1 && report.updates >= 2)
        #expect(report.object.entity == "t")
        let after = try store.history()
        #expect(after.map(\.summary) == before)
        for change in after.flatMap(\.changes) {
            let isOther = change.object.key.description == "2"
            #expect((change.oldValues != nil) == isOther)
            if change.kind == .delete { #expect(change.tombstone?.pairs.map(\.name) == ["id"]) }
        }
        #expect(throws: SyncError(.refused, "")) { try store.restore(.init(path: "t/1")) }
        #expect(throws: SyncError(.unknownObject, "")) { try store.erase(.init(path: "t/77")) }
        #expect(throws: SyncError(.unknownEntity, "")) { try store.erase(.init(path: "u/1")) }
        let texts =
            try stage.database.rows("SELECT CAST(data AS TEXT) FROM syncd_change")
            + stage.database.rows("SELECT v0 || v1 FROM syncd_log")
        #expect(!texts.contains { $0[0].description.contains(secret) })
        try stage.write("UPDATE t SET a = 1 WHERE id = 2")
        #expect(try stage.last().summary == "update t/2 a", "history goes on")
    }
}
