import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Reverting a change of a key that the rows of other tables have followed.
@Suite struct KeyChangeUndoTests {
    private static let deletes = ["NO ACTION", "RESTRICT", "CASCADE", "SET NULL"]

    private func stage(
        _ mode: UndoMode, onDelete: String, onUpdate: String = "CASCADE"
    ) throws -> UndoStage {
        let reference = "ON UPDATE \(onUpdate) ON DELETE \(onDelete)"
        let undo = CaptureOptions(undo: true)
        return try UndoStage(
            mode, ["a": undo, "b": undo, "c": undo, "d": undo],
            "CREATE TABLE a(id TEXT PRIMARY KEY, v INTEGER UNIQUE)",
            "CREATE TABLE b(a TEXT PRIMARY KEY REFERENCES a \(reference), v INTEGER UNIQUE)",
            "CREATE TABLE c(a TEXT PRIMARY KEY REFERENCES b \(reference), v INTEGER UNIQUE)",
            "CREATE TABLE d(id INTEGER PRIMARY KEY, c TEXT REFERENCES c \(reference))",
            "INSERT INTO a VALUES ('x', 1), ('z', 2)", "INSERT INTO b VALUES ('x', 1), ('z', 2)",
            "INSERT INTO c VALUES ('x', 1)", "INSERT INTO d VALUES (1, 'x'), (2, NULL), (3, 'x')")
    }

    private func rows(_ stage: UndoStage) throws -> [[[Value]]] {
        try ["a", "b", "c", "d"].map { try stage.database.rows("SELECT * FROM \($0) ORDER BY 1") }
    }

    @Test(arguments: UndoMode.all, Self.deletes)
    func aChainOfTablesFollowsTheOldKey(_ mode: UndoMode, onDelete: String) throws {
        let stage = try stage(mode, onDelete: onDelete)
        let before = try rows(stage)
        try stage.write("UPDATE a SET id = 'y', v = 5 WHERE id = 'x'")
        let report = try stage.store.revert(stage.last().number)
        #expect(report.isComplete, "\(report)")
        #expect(try rows(stage) == before)
    }

    @Test(arguments: UndoMode.all)
    func exchangedKeysAreExchangedBack(_ mode: UndoMode) throws {
        let stage = try stage(mode, onDelete: "NO ACTION")
        let before = try rows(stage)
        try stage.write(
            """
            BEGIN; UPDATE a SET id = 't' WHERE id = 'x'; UPDATE a SET id = 'x' WHERE id = 'z';
            UPDATE a SET id = 'z' WHERE id = 't'; COMMIT
            """)
        let report = try stage.store.revert(stage.last().number)
        #expect(report.isComplete, "\(report)")
        #expect(try rows(stage) == before)
    }

    @Test(arguments: UndoMode.all)
    func aKeyThatOthersFollowedSinceIsNotTakenFromThem(_ mode: UndoMode) throws {
        let stage = try stage(mode, onDelete: "CASCADE", onUpdate: "SET NULL")
        try stage.write("UPDATE c SET a = NULL; UPDATE b SET a = 'gone' WHERE false")
        try stage.write("UPDATE d SET c = NULL")
        try stage.write("BEGIN; DELETE FROM c; DELETE FROM b; COMMIT")
        try stage.write("UPDATE a SET id = 'y' WHERE id = 'x'")
        let number = try stage.last().number
        try stage.write("INSERT INTO b VALUES ('y', 7)")
        let after = try rows(stage)
        let report = try stage.store.revert(number)
        #expect(report.steps.isEmpty)
        #expect(report.refusals.map(\.reason) == ["b/y refers to it"])
        #expect(try rows(stage) == after)
    }

    /// A writer that does not enforce foreign keys left a row that refers to nothing; then another
    /// object took that key.
    @Test(arguments: UndoMode.all)
    func aRowThatDidNotFollowIsNotTakenAlong(_ mode: UndoMode) throws {
        let stage = try stage(mode, onDelete: "CASCADE")
        try stage.write("PRAGMA foreign_keys = OFF; DELETE FROM c; DELETE FROM b")
        try stage.write("INSERT INTO b VALUES ('y', 8)")
        try stage.write("UPDATE a SET id = 'y' WHERE id = 'z'")
        let number = try stage.last().number
        let after = try rows(stage)
        let report = try stage.store.revert(number)
        #expect(report.steps.isEmpty)
        #expect(
            report.refusals.map(\.reason)
                == ["b/y would follow it, which referred to this key before"])
        #expect(try rows(stage) == after)
        // What refers to it since then follows.
        try stage.write("UPDATE b SET v = 9 WHERE a = 'y'")
        #expect(try stage.store.revert(number).isComplete)
    }

    @Test(arguments: UndoMode.all)
    func objectsThatReferToEachOtherAreDeletedTogether(_ mode: UndoMode) throws {
        let stage = try UndoStage(
            mode, [:],
            "CREATE TABLE t(id INTEGER PRIMARY KEY, other INTEGER REFERENCES t ON DELETE CASCADE)")
        try stage.write("BEGIN; INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2); COMMIT")
        try stage.write(
            "PRAGMA defer_foreign_keys = ON; INSERT INTO t VALUES (10, 11), (11, 12), (12, 10)")
        let ring = try stage.last().number
        let report = try stage.store.revert(ring)
        #expect(report.isComplete && report.steps.count == 3, "\(report)")
        #expect(try stage.database.rows("SELECT id FROM t") == [[1], [2], [3]])
        try stage.write(
            "BEGIN; INSERT INTO t VALUES (10, 11), (11, 12), (12, 10); COMMIT")
        let again = try stage.last().number
        try stage.write("INSERT INTO t VALUES (20, 12)")
        let refused = try stage.store.revert(again)
        #expect(refused.steps.isEmpty && refused.refusals.count == 3, "\(refused)")
        #expect(refused.refusals.contains { $0.reason == "t/20 refers to it" })
    }

    /// Commits that nobody looked at in between are one transaction, and are taken back as one.
    @Test(arguments: [true, false])
    func coalescedCommitsAreTakenBackTogether(isDigested: Bool) throws {
        let mode = UndoMode(digests: isDigested ? .always : .never, wal: false)
        let stage = try stage(mode, onDelete: "CASCADE")
        let before = try rows(stage)
        try stage.database.sql("UPDATE a SET v = 8 WHERE id = 'z'")
        try stage.database.sql("UPDATE a SET id = 'y' WHERE id = 'x'")
        try stage.database.sql("INSERT INTO a VALUES ('n', 9); INSERT INTO b VALUES ('n', 9)")
        try stage.database.sql("DELETE FROM d WHERE id = 2; UPDATE d SET c = NULL WHERE id = 3")
        try stage.settle()
        let transaction = try stage.last()
        #expect(transaction.flags.contains(.coalesced))
        let report = try stage.store.revert(transaction.number)
        #expect(report.isComplete, "\(report)")
        #expect(try rows(stage) == before)
    }

    /// An update and the delete after it, which nobody told apart: the values that were there before
    /// both are not those of the tombstone.
    @Test(arguments: [true, false], [true, false])
    func anUpdateBeforeADeleteKeepsItsOldValues(isDigested: Bool, undo: Bool) throws {
        let mode = UndoMode(digests: isDigested ? .always : .never, wal: false)
        let stage = try UndoStage(
            mode, ["t": CaptureOptions(undo: undo)], "CREATE TABLE t(id INTEGER PRIMARY KEY, v, w)")
        try stage.write("INSERT INTO t VALUES (1, 'one', 'w')")
        let start = try stage.store.head()
        try stage.database.sql("UPDATE t SET v = 'two'")
        try stage.database.sql("DELETE FROM t")
        try stage.settle()
        let transaction = try stage.last()
        #expect(transaction.flags.contains(.coalesced))
        let change = transaction.changes[0]
        #expect(change.kind == .delete && change.properties == ["v"])
        #expect(change.tombstone?["v"] == "two" && change.oldValues?["v"] == (undo ? "one" : nil))
        let past = try stage.store.object(.init(path: "t/1"), asOf: start)
        #expect(past.unknown == (undo ? [] : ["v"]) && past.values["w"] == "w")
        #expect(past.values["v"] == (undo ? "one" : nil))
        let report = try stage.store.revert(transaction.number)
        #expect(report.isComplete == undo)
        #expect(
            try stage.database.rows("SELECT * FROM t") == [[1, undo ? "one" : "two", "w"]])
    }

    @Test(arguments: UndoMode.all)
    func updatesWithoutOldValuesSayHowToKeepThem(_ mode: UndoMode) throws {
        let stage = try UndoStage(
            mode, [:], "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 1)")
        try stage.write("UPDATE t SET v = 2")
        let report = try stage.store.revert(stage.last().number)
        #expect(report.refusals.first?.reason.hasSuffix("synctool track DB --undo t") == true)
        // As it says.
        _ = try Store.track(stage.database.path, choosing: CaptureChoice(undo: ["t"]))
        try stage.store.reloadEntities()
        try stage.write("UPDATE t SET v = 3")
        #expect(try stage.store.revert(stage.last().number).isComplete)
        #expect(try stage.database.rows("SELECT v FROM t") == [[2]])
        #expect(try stage.store.verifyCapture().isEmpty)
        // What was taken out of the history cannot be kept by any option.
        try stage.write("UPDATE t SET v = 4")
        let number = try stage.last().number
        _ = try stage.store.erase(.init(path: "t/1"))
        let erased = try stage.store.revert(number)
        #expect(
            erased.refusals.map(\.reason)
                == ["its old values are not in the history: they were purged, or not kept then"])
    }

    /// Random chains of tables and changes of keys: the tables are as before, or what is not is
    /// named.
    @Test(arguments: UndoMode.all, TestSeed.each(of: 1...3))
    func randomKeyChangesAreTakenBack(_ mode: UndoMode, seed: TestSeed) throws {
        var random = seed.random
        let updates = ["CASCADE", "CASCADE", "CASCADE", "SET NULL", "NO ACTION"]
        let stage = try stage(
            mode, onDelete: random.pick(Self.deletes), onUpdate: random.pick(updates))
        var done = 0
        var trail = ""
        for _ in 0..<20 {
            let before = try rows(stage)
            let head = try stage.store.head().number
            let statements = (0..<(1 + random.below(4))).map { _ in Self.statement(&random) }
            trail += statements.joined(separator: "; ") + "\n"
            // Statements that a constraint refuses are left out.
            try stage.database.sql("BEGIN; PRAGMA defer_foreign_keys = ON")
            for sql in statements { try? stage.database.sql(sql) }
            do { try stage.write("COMMIT") } catch { try stage.database.sql("ROLLBACK") }
            let after = try rows(stage)
            guard try stage.store.head().number != head, !random.once(in: 4) else { continue }
            do {
                let report = try stage.store.revert(stage.last().number)
                try stage.settle()
                if report.refusals.isEmpty {
                    #expect(try rows(stage) == before, "\(seed) \(report)\n\(trail)")
                    done += 1
                }
            } catch let error as SyncError where error.code == .refused {
                #expect(try rows(stage) == after, "\(seed) half written\n\(trail)")
            }
        }
        #expect(done > 0, "\(seed): \(done)\n\(trail)")
    }

    private static func statement(_ random: inout SeededRandom) -> String {
        let table = random.pick(["a", "a", "b", "c"])
        let key = table == "a" ? "id" : "a"
        let (one, other) = (random.pick(["x", "y", "z"]), random.pick(["x", "y", "z", "w"]))
        switch random.below(8) {
        case 0...3: return "UPDATE \(table) SET \(key) = '\(other)' WHERE \(key) = '\(one)'"
        case 4: return "INSERT INTO \(table) VALUES ('\(other)', \(random.below(9)))"
        case 5: return "DELETE FROM \(table) WHERE \(key) = '\(one)'"
        case 6: return "UPDATE \(table) SET v = \(random.below(9)) WHERE \(key) = '\(one)'"
        default: return "UPDATE d SET c = '\(other)' WHERE id = \(1 + random.below(3))"
        }
    }
}
