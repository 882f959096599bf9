import Testing

@testable import SyncCore
@testable import SyncValues

/// Which transaction each value of an object is from.
@Suite struct BlameTests {
    private func stage(_ mode: UndoMode) throws -> UndoStage {
        try UndoStage(
            mode, ["t": CaptureOptions(undo: true)],
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c)",
            "INSERT INTO t VALUES (1, 'a', 'b', 'c')")
    }

    private func numbers(
        _ stage: UndoStage, _ path: String, at token: Token? = nil
    ) throws -> [String: Int64] {
        let blame = try stage.store.blame(ObjectName(path: path), asOf: token ?? stage.store.head())
        return blame.transactions.mapValues(\.number)
    }

    @Test(arguments: UndoMode.all) func theLastWriterOfEachValue(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        #expect(try numbers(stage, "t/1").isEmpty, "from before the history")
        try stage.write(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('ann');
            UPDATE t SET a = 'x', b = 'x' WHERE id = 1; COMMIT
            """)
        let first = try stage.last()
        try stage.write("UPDATE t SET b = 'y' WHERE id = 1")
        let second = try stage.last()
        try stage.write("INSERT INTO t VALUES (2, 1, 2, 3)")
        let third = try stage.last()
        try stage.write("UPDATE t SET c = 4 WHERE id = 2")
        let fourth = try stage.last()
        #expect(try numbers(stage, "T/1") == ["a": first.number, "b": second.number])
        #expect(
            try numbers(stage, "t/2") == [
                "id": third.number, "a": third.number, "b": third.number, "c": fourth.number,
            ])
        #expect(
            try numbers(stage, "t/1", at: first.token) == ["a": first.number, "b": first.number])
        let blame = try stage.store.blame(ObjectName(path: "t/1"), asOf: first.token)
        #expect(blame.object.values["b"] == "x")
        #expect(blame.transactions["a"]?.author == "ann")
        #expect(blame.transactions["a"]?.changes.isEmpty == true)
    }

    @Test(arguments: UndoMode.all) func aChangedKeyIsFollowed(_ mode: UndoMode) throws {
        let stage = try stage(mode)
        try stage.write("UPDATE t SET a = 'x' WHERE id = 1")
        let first = try stage.last()
        try stage.write("UPDATE t SET id = 7, b = 'y' WHERE id = 1")
        let second = try stage.last()
        try stage.write("UPDATE t SET id = 8 WHERE id = 7")
        let third = try stage.last()
        #expect(
            try numbers(stage, "t/8") == [
                "a": first.number, "b": second.number, "id": third.number,
            ])
        #expect(try numbers(stage, "t/1").isEmpty, "it is not there")
    }

    @Test func deletedAndInsertedAgainItBeginsAgain() throws {
        let stage = try stage(UndoMode(digests: .everySecondTime, wal: true))
        try stage.write("UPDATE t SET a = 'x' WHERE id = 1")
        try stage.write("DELETE FROM t WHERE id = 1")
        try stage.write("INSERT INTO t VALUES (1, 'x', 'b', 'c')")
        let last = try stage.last()
        #expect(Set(try numbers(stage, "t/1").values) == [last.number])
        #expect(try numbers(stage, "t/1").count == 4)
    }

    @Test func whatThereIsNotIsRefused() throws {
        let stage = try stage(UndoMode(digests: .always, wal: true))
        #expect(throws: SyncError(.unknownEntity, "")) { try numbers(stage, "u/1") }
        #expect(throws: SyncError(.invalidArgument, "")) { try numbers(stage, "t/1,2") }
    }
}
