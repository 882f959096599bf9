import Foundation
import SyncTesting
import Testing

@testable import SyncCore

/// One test for each trap of SQL that a naive trigger falls into.
@Suite struct CaptureTrapTests {
    let folder: TemporaryFolder
    let path: String
    let db: PlainConnection

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("trap.db")
        db = try PlainConnection(path)
    }

    private func track(
        _ schema: String, options: [String: CaptureOptions] = [:]
    ) throws {
        try db.run(schema)
        try Tracker(path: path).track(options: options)
    }

    private func entries(after sql: String) throws -> [LogEntry] {
        let last = try db.value("SELECT coalesce(max(seq), 0) FROM syncd_log").description
        try db.run(sql)
        return try RawLog.entries(db, after: Int64(last) ?? 0)
    }

    // MARK: Masks

    @Test func eachColumnHasItsOwnBit() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c); INSERT INTO t VALUES(1,1,1,1)")
        #expect(try entries(after: "UPDATE t SET b = 2")[0].changed == [2])
        #expect(try entries(after: "UPDATE t SET c = 2, a = 2")[0].changed == [1, 3])
        #expect(try entries(after: "UPDATE t SET c = 2, a = 2").isEmpty)
    }

    @Test func caseChangeUnderNocaseIsAChange() throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b COLLATE RTRIM);
            INSERT INTO t VALUES(1, 'abc', 'x')
            """)
        #expect(try entries(after: "UPDATE t SET a = 'ABC'")[0].changed == [1])
        #expect(try entries(after: "UPDATE t SET b = 'x  '")[0].changed == [2])
    }

    @Test func typeChangeOfEqualNumberIsAChange() throws {
        try track(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a, n NUMERIC); INSERT INTO t VALUES(1,1,1)")
        #expect(try entries(after: "UPDATE t SET a = 1.0")[0].changed == [1])
        #expect(try entries(after: "UPDATE t SET a = '1'")[0].changed == [1])
        #expect(try entries(after: "UPDATE t SET n = 1.0").isEmpty)
        #expect(try entries(after: "UPDATE t SET a = x'31'")[0].changed == [1])
        #expect(try entries(after: "UPDATE t SET a = NULL")[0].changed == [1])
    }

    @Test func twoHundredColumns() throws {
        let columns = (1..<200).map { "c\($0)" }
        try track(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));"
                + "INSERT INTO t(id) VALUES(1)", options: ["t": CaptureOptions(undo: true)])
        let update = try entries(
            after: "UPDATE t SET c1 = 1, c62 = 1, c63 = 1, c126 = 1, c189 = 1, c199 = 1")
        #expect(update[0].changed == [1, 62, 63, 126, 189, 199])
        #expect(update[0].old[199] == .null)
        let deleted = try entries(after: "DELETE FROM t")
        #expect(deleted[0].kept.count == 199 && deleted[0].kept[199] == 1)
    }

    @Test func generatedColumnsAreNotRecorded() throws {
        try track(
            """
            CREATE TABLE t(a, g AS (a + 1) STORED, id INTEGER PRIMARY KEY, h AS (a * 2), z);
            INSERT INTO t VALUES(1, 7, 1)
            """)
        #expect(try entries(after: "UPDATE t SET a = 5")[0].changed == [0])
        #expect(try entries(after: "UPDATE t SET z = 5")[0].changed == [2])
        #expect(try entries(after: "DELETE FROM t")[0].kept == [0: 5, 2: 5])
    }

    // MARK: Keys

    @Test(arguments: ["id", "rowid", "_rowid_", "oid"])
    func keyUpdateByAnyName(_ name: String) throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'x')")
        let entries = try entries(after: "UPDATE t SET \(name) = 9")
        #expect(entries.map(\.kind) == [.delete, .renumber, .insert])
        #expect(entries.map(\.key) == [[1], [1], [9]])
        #expect(entries[0].kept == [1: "x"] && entries[1].newKey == [9])
    }

    /// REPLACE puts the default in the place of a NULL after the BEFORE triggers have run.
    @Test(arguments: [
        ("0", "0"), ("'it''s'", "'it''s'"), ("word", "'word'"), ("\"a\"\"b\"", "'a\"b'"),
        ("(1 + 1)", "2"), ("true", "1"), ("CURRENT_DATE", "CURRENT_DATE"),
    ])
    func replaceByADefault(_ value: String, _ literal: String) throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, z NOT NULL DEFAULT \(value) UNIQUE, v);
            CREATE TABLE k(k NOT NULL DEFAULT \(value) PRIMARY KEY, v) WITHOUT ROWID;
            INSERT INTO t VALUES (1, \(literal), 'old'), (2, 'other', 2);
            INSERT INTO k VALUES (\(literal), 'old')
            """)
        let inserted = try entries(after: "REPLACE INTO t VALUES (3, NULL, 'new')")
        #expect(inserted.map(\.kind) == [.replace, .insert])
        #expect(inserted.map(\.key) == [[1], [3]] && inserted[0].kept[2] == "old")
        let updated = try entries(after: "UPDATE OR REPLACE t SET z = NULL WHERE id = 2")
        #expect(updated.map(\.key) == [[3], [2]] && updated[0].kind == .replace)
        #expect(try entries(after: "REPLACE INTO k VALUES (NULL, 'new')").map(\.kind).count == 2)
    }

    @Test func compositeKeyOfNineParts() throws {
        let key = (1...9).map { "k\($0)" }.joined(separator: ", ")
        try track("CREATE TABLE t(\(key), v, PRIMARY KEY(\(key))) WITHOUT ROWID")
        let inserted = try entries(after: "INSERT INTO t VALUES(1,2,3,4,5,6,7,8,9,'v')")
        #expect(inserted[0].key == (1...9).map { .integer($0) })
        let moved = try entries(after: "UPDATE t SET k9 = 10")
        #expect(moved.map(\.kind) == [.delete, .renumber, .insert])
        let replaced = try entries(after: "REPLACE INTO t VALUES(1,2,3,4,5,6,7,8,10,'w')")
        #expect(replaced.map(\.kind) == [.replace, .insert])
        #expect(replaced[0].kept == [9: "v"] && replaced[0].isSameKey)
    }

    // MARK: REPLACE

    @Test(arguments: [0, 1])
    func replaceByKeyKeepsTheVictim(_ recursive: Int) throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'old')")
        try db.run("PRAGMA recursive_triggers = \(recursive); PRAGMA trusted_schema = OFF")
        let entries = try entries(after: "REPLACE INTO t VALUES(1, 'new')")
        #expect(entries.map(\.kind) == [recursive == 0 ? .replace : .delete, .insert])
        #expect(entries[0].kept == [1: "old"])
    }

    @Test func replaceByUniqueIndexesKeepsEachVictim() throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b COLLATE NOCASE, c);
            CREATE UNIQUE INDEX tb ON t(b) WHERE c > 0;
            CREATE UNIQUE INDEX tc ON t(abs(c));
            INSERT INTO t VALUES(1, 1, 'x', 1), (2, 2, 'y', 2), (3, 3, 'z', 3), (4, 4, 'x', -4)
            """)
        let entries = try entries(after: "REPLACE INTO t VALUES(9, 1, 'Y', -3)")
        #expect(entries.map(\.kind) == [.replace, .replace, .insert])
        #expect(Set(entries.map(\.key)) == [[1], [3], [9]])
        let updated = try self.entries(after: "UPDATE OR REPLACE t SET c = 2 WHERE id = 9")
        #expect(updated.count == 2 && updated.contains { $0.kind == .replace && $0.key == [2] })
    }

    @Test func indexWithACollationOfItsOwn() throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);
            CREATE UNIQUE INDEX ta ON t(a COLLATE NOCASE); INSERT INTO t VALUES(1, 'x')
            """)
        let entries = try entries(after: "REPLACE INTO t VALUES(2, 'X')")
        #expect(entries.map(\.kind) == [.replace, .insert] && entries[0].kept == [1: "x"])
    }

    @Test func replaceInsideAReplaceKeepsBothVictims() throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'x'), (5, 'y');
            CREATE TRIGGER again BEFORE INSERT ON t WHEN NEW.id < 5 BEGIN
              INSERT INTO t VALUES(5, 'inner'); END;
            """)
        let entries = try entries(after: "REPLACE INTO t VALUES(1, 'outer')")
        #expect(entries.map(\.kind) == [.replace, .insert, .replace, .insert])
        #expect(entries.map(\.key) == [[5], [5], [1], [1]])
        #expect(entries[0].kept == [1: "y"] && entries[2].kept == [1: "x"])
    }

    @Test func replaceByHiddenRowID() throws {
        try track("CREATE TABLE t(k TEXT PRIMARY KEY); INSERT INTO t(rowid, k) VALUES(5, 'a')")
        let entries = try entries(after: "REPLACE INTO t(rowid, k) VALUES(5, 'b')")
        #expect(entries.map(\.kind) == [.replace, .insert])
        #expect(entries[0].key == ["a"] && !entries[0].isSameKey)
    }

    @Test func nullsDoNotClash() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO t VALUES(1, NULL)")
        #expect(try entries(after: "REPLACE INTO t VALUES(2, NULL)").map(\.kind) == [.insert])
    }

    @Test func staleGuardRowsNeverSpeak() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'a')")
        let entries = try entries(
            after: """
                BEGIN; INSERT OR IGNORE INTO t VALUES(1, 'b'); DELETE FROM t;
                INSERT INTO t VALUES(1, 'c'); COMMIT
                """)
        #expect(entries.map(\.kind) == [.delete, .insert])
    }

    @Test func upsertIsAnUpdate() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES(1, 1, 1)")
        let sql = "INSERT INTO t VALUES(1, 2, 2) ON CONFLICT DO UPDATE SET b = excluded.b"
        let entries = try entries(after: sql)
        #expect(entries.map(\.kind) == [.update] && entries[0].changed == [2])
        #expect(try self.entries(after: sql).isEmpty)
        #expect(try self.entries(after: "INSERT OR IGNORE INTO t VALUES(1, 3, 3)").isEmpty)
    }

    // MARK: Other writers' ways

    @Test func foreignKeyActionsAreRecorded() throws {
        try track(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE);
            CREATE TABLE n(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE SET NULL);
            INSERT INTO p VALUES(1); INSERT INTO c VALUES(1, 1); INSERT INTO n VALUES(1, 1);
            """)
        try db.run("PRAGMA foreign_keys = ON")
        let kinds = try entries(after: "DELETE FROM p").map(\.kind)
        #expect(kinds.first == .deleting && kinds.last == .delete && kinds.count == 4)
        #expect(Set(kinds[1...2]) == [.delete, .update])
    }

    @Test func bulkStatementsAreRecorded() throws {
        try track(
            "CREATE TABLE a(id INTEGER PRIMARY KEY, v); CREATE TABLE b(id INTEGER PRIMARY KEY, v);"
                + "INSERT INTO a VALUES(1, 1), (2, 2)")
        #expect(try entries(after: "INSERT INTO b SELECT * FROM a").count == 2)
        #expect(try entries(after: "DELETE FROM b").count == 2)
    }

    @Test func returningIsNotDisturbed() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO t VALUES(1, 'a')")
        #expect(try db.rows("REPLACE INTO t VALUES(1, 'b') RETURNING id, a") == [[1, "b"]])
        #expect(try db.rows("INSERT INTO t(a) VALUES('c'), ('d') RETURNING id") == [[2], [3]])
        #expect(try db.rows("UPDATE t SET a = a || 1 RETURNING a") == [["b1"], ["c1"], ["d1"]])
        #expect(try db.rows("DELETE FROM t RETURNING id") == [[1], [2], [3]])
        let kinds = try RawLog.entries(db).map(\.kind)
        #expect(kinds.prefix(4) == [.replace, .insert, .insert, .insert])
        #expect(kinds.dropFirst(4).filter { $0 == .update }.count == 3)
        #expect(kinds.dropFirst(4).filter { $0 == .delete }.count == 3 && kinds.count == 10)
    }

    @Test func insteadOfTriggersWriteThroughViews() throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'a');
            CREATE VIEW v AS SELECT id, a FROM t;
            CREATE TRIGGER v_insert INSTEAD OF INSERT ON v BEGIN
              INSERT INTO t VALUES(NEW.id, NEW.a); END;
            CREATE TRIGGER v_update INSTEAD OF UPDATE ON v BEGIN
              UPDATE t SET a = NEW.a WHERE id = OLD.id; END;
            CREATE TRIGGER v_delete INSTEAD OF DELETE ON v BEGIN
              DELETE FROM t WHERE id = OLD.id; END;
            """)
        let entries = try entries(
            after: "REPLACE INTO v VALUES(1, 'b'); UPDATE v SET a = 'c'; DELETE FROM v")
        #expect(entries.map(\.kind) == [.replace, .insert, .update, .delete])
        #expect(entries[0].kept == [1: "a"] && entries[3].kept == [1: "c"])
    }

    @Test(arguments: ["IGNORE", "ABORT, 'no'", "FAIL, 'no'", "ROLLBACK, 'no'"])
    func rowsThatATriggerRefusesLeaveNoTrace(_ raise: String) throws {
        try track(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'a'), (2, 'b');
            CREATE TRIGGER veto BEFORE INSERT ON t WHEN NEW.a = 'bad' BEGIN
              SELECT RAISE(\(raise)); END;
            CREATE TRIGGER late AFTER INSERT ON t WHEN NEW.a = 'late' BEGIN
              SELECT RAISE(\(raise)); END;
            """)
        try? db.run("REPLACE INTO t VALUES(1, 'bad')")
        #expect(try RawLog.entries(db).isEmpty)
        #expect(try entries(after: "DELETE FROM t; INSERT INTO t VALUES(1, 'c')").count == 3)
        let before = try db.rows("SELECT * FROM t")
        let last = try db.value("SELECT max(seq) FROM syncd_log").description
        try? db.run("REPLACE INTO t VALUES(1, 'late')")
        let isKept = try db.rows("SELECT * FROM t") != before
        let logged = try RawLog.entries(db, after: Int64(last) ?? 0).map(\.kind)
        #expect(logged == (isKept ? [.replace, .insert] : []))
    }

    @Test func guardRowThatSpokeNeverSpeaksAgain() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'a')")
        let entries = try entries(
            after: """
                BEGIN; REPLACE INTO t VALUES(1, 'b'); INSERT INTO t VALUES(2, 'x');
                UPDATE t SET id = 3 WHERE id = 1; INSERT INTO t VALUES(1, 'c');
                UPDATE OR REPLACE t SET id = 2 WHERE id = 3; DELETE FROM t WHERE id = 1;
                INSERT INTO t VALUES(1, 'd'), (3, 'd'); COMMIT
                """)
        #expect(
            entries.map(\.kind) == [
                .replace, .insert, .insert, .delete, .renumber, .insert, .insert, .replace, .delete,
                .renumber, .insert, .delete, .insert, .insert,
            ])
        #expect(entries[7].key == [2] && entries[7].isSameKey && entries[7].kept == [1: "x"])
    }

    @Test func guardStaysSmall() throws {
        try track(
            (1...40).map { "CREATE TABLE t\($0)(id INTEGER PRIMARY KEY, a)" }
                .joined(separator: ";"))
        let upserts = (1...40).map { "INSERT OR IGNORE INTO t\($0) VALUES(1, 1)" }
        for _ in 0..<2 { try db.run(upserts.joined(separator: ";")) }
        try db.run("UPDATE syncd_guard SET ts = ts - 1")
        try db.run("INSERT OR IGNORE INTO t1 VALUES(1, 1)")
        #expect(try db.value("SELECT count(*) FROM syncd_guard") == 1)
    }

    @Test func vacuumRecordsNothing() throws {
        try track("CREATE TABLE t(k TEXT PRIMARY KEY, a); INSERT INTO t VALUES('a', 1), ('b', 2)")
        #expect(try entries(after: "DELETE FROM t WHERE k = 'a'; VACUUM").map(\.kind) == [.delete])
        let last = try db.value("SELECT max(seq) FROM syncd_log")
        #expect(try entries(after: "REPLACE INTO t VALUES('b', 3)").map(\.key) == [["b"], ["b"]])
        #expect(last == 1)
    }

    @Test func defensiveWritersAreRecorded() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = [
            "sqlite3", "-cmd", ".dbconfig defensive on", "-cmd", ".dbconfig trusted_schema off",
            path, "INSERT INTO t VALUES(1, 1); REPLACE INTO t VALUES(1, 2); DELETE FROM t",
        ]
        (shell.standardOutput, shell.standardError) = (Pipe(), Pipe())
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        let kinds = try RawLog.entries(db).map(\.kind)
        #expect(kinds == [.insert, .replace, .insert, .delete])
    }

    @Test func seqGoesOnAfterEverythingIsPurged() throws {
        try db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        try Store.track(path)
        let store = try Store.open(path)
        var last: Int64 = 0
        for round in 1...3 {
            try db.run("INSERT INTO t(a) VALUES(1), (2); DELETE FROM t")
            _ = try store.digest()
            try store.purge(force: true)
            let entries = try entries(after: "INSERT INTO t(a) VALUES(\(round))")
            #expect(entries.count == 1 && entries[0].seq > last)
            last = entries.last?.seq ?? 0
            try db.run("BEGIN; DELETE FROM t; ROLLBACK")
        }
        #expect(last >= 15)
    }

    @Test func attachedDatabaseLogsToItself() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY)")
        let other = try PlainConnection(folder.file("other.db"))
        try other.run("ATTACH '\(path)' AS x; CREATE TABLE t(id); INSERT INTO x.t VALUES(3)")
        #expect(try RawLog.entries(db).map(\.key) == [[3]])
    }

    @Test func namesLikeOursAndKeywordsAreHandled() throws {
        try track(
            """
            CREATE TABLE "select"(
              op INTEGER PRIMARY KEY, e, i, ts, pk UNIQUE, k0, m, "a""b c", rowid);
            CREATE TABLE new(old TEXT PRIMARY KEY, new UNIQUE);
            """)
        try db.run(
            """
            INSERT INTO "select"(op, pk, k0, rowid) VALUES(1, 1, 2, 3);
            INSERT INTO new VALUES('a', 'b');
            """)
        let first = try entries(after: "REPLACE INTO \"select\"(op, pk) VALUES(2, 1)")
        #expect(first.map(\.kind) == [.replace, .insert] && first[0].kept[8] == 3)
        let second = try entries(after: "REPLACE INTO new VALUES('c', 'b')")
        #expect(second.map(\.key) == [["a"], ["c"]])
    }

    @Test func markersSayWhoWrites() throws {
        try track("CREATE TABLE t(id INTEGER PRIMARY KEY)")
        try db.run(
            """
            INSERT INTO syncd_txn(author, context, pid) VALUES('importer', 'nightly', 4711);
            INSERT INTO syncd_txn(author) VALUES(NULL)
            """)
        let rows = try db.rows("SELECT op, m, pk, v0, v1 FROM syncd_log")
        #expect(rows == [[0, nil, 4711, "importer", "nightly"], [0, 1, nil, nil, nil]])
    }

    @Test func keptValuesCanBeChosen() throws {
        try track(
            "CREATE TABLE a(id INTEGER PRIMARY KEY, v, w);"
                + "CREATE TABLE b(id INTEGER PRIMARY KEY, v)",
            options: ["a": CaptureOptions(kept: .columns(["W"])), "b": CaptureOptions(kept: .none)])
        try db.run("INSERT INTO a VALUES(1, 2, 3); INSERT INTO b VALUES(1, 2)")
        #expect(try entries(after: "DELETE FROM a")[0].kept == [2: 3])
        #expect(try entries(after: "DELETE FROM b")[0].kept == [:])
    }
}
