import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// What is told of deletes that SQLite carried out by a cascade, and of those that a statement
/// named, all of it within one transaction and mostly within one millisecond.
@Suite struct CascadeCaptureTests {
    private static let family = """
        CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE child(id INTEGER PRIMARY KEY,
          parent REFERENCES parent ON DELETE CASCADE, n UNIQUE);
        CREATE TABLE grandchild(id INTEGER PRIMARY KEY,
          child REFERENCES child ON DELETE CASCADE);
        INSERT INTO parent VALUES(5, 'a'), (6, 'b');
        INSERT INTO child VALUES(1, 5, 10), (2, 5, 20), (3, 6, 30);
        INSERT INTO grandchild VALUES(100, 1), (101, 3);
        """

    /// What `sql`, run as one transaction, is told as: `-child/1 < parent/5`.
    private func told(
        _ schema: String = family, after sql: String, pragmas: String = ""
    ) throws -> [String] {
        let database = try TestDatabase(wal: true, schema)
        let store = try database.store()
        try database.sql(pragmas)
        try database.sql("BEGIN; \(sql); COMMIT")
        let transactions = try store.poll().transactions
        #expect(transactions.count <= 1)
        return transactions.flatMap(\.changes).map(Self.text)
    }

    private static func text(_ change: Change) -> String {
        let sign = change.kind == .insert ? "+" : change.kind == .update ? "*" : "-"
        let text = sign + change.object.path
        switch change.cause {
        case .cascade(let parent): return "\(text) < \(parent.path)"
        case .renumbered(let other): return "\(text) > \(other.path)"
        case .replace: return "\(text) replace"
        case .direct, .merge: return text
        }
    }

    @Test func childDeletedByNameAndInsertedAgainLives() throws {
        #expect(
            try told(
                after: "DELETE FROM child WHERE id = 2; INSERT INTO child VALUES(2, 6, 40);"
                    + "DELETE FROM parent WHERE id = 5")
                == [
                    "-child/2", "+child/2", "-parent/5", "-child/1 < parent/5",
                    "-grandchild/100 < child/1",
                ])
    }

    @Test func childDeletedByNameIsNoCascade() throws {
        #expect(
            try told(
                after: "DELETE FROM grandchild WHERE id = 100; DELETE FROM child WHERE id = 1;"
                    + "DELETE FROM parent WHERE id = 5")
                == ["-grandchild/100", "-child/1", "-parent/5", "-child/2 < parent/5"])
    }

    @Test func withoutForeignKeysNothingIsACascade() throws {
        #expect(
            try told(
                after: "DELETE FROM child WHERE parent = 5; DELETE FROM parent WHERE id = 5",
                pragmas: "PRAGMA foreign_keys = OFF") == ["-child/1", "-child/2", "-parent/5"])
    }

    /// The parent is there afterwards: nobody can be told that the child went because of it. With
    /// recursive_triggers it is deleted and inserted.
    @Test func parentThatIsWrittenAgainIsNoCause() throws {
        let sql = "INSERT OR REPLACE INTO parent VALUES(5, 'new')"
        #expect(
            try told(after: sql)
                == ["-child/1", "-grandchild/100 < child/1", "-child/2", "*parent/5 replace"])
        #expect(
            try told(after: sql, pragmas: "PRAGMA recursive_triggers = ON")
                == [
                    "-parent/5", "-child/1 < parent/5", "-grandchild/100 < child/1",
                    "-child/2 < parent/5", "+parent/5",
                ])
        let other = "UPDATE OR REPLACE parent SET id = 5 WHERE id = 6"
        #expect(
            try told(after: "DELETE FROM child WHERE parent = 6; \(other)")
                == [
                    "-child/3", "-grandchild/101 < child/3", "-child/1",
                    "-grandchild/100 < child/1",
                    "-child/2", "*parent/5 replace", "-parent/6 > parent/5",
                ])
    }

    /// Keys that SQLite compares by its own rules: the order says whose child it is, no value.
    @Test(arguments: [
        "k TEXT PRIMARY KEY COLLATE NOCASE", "id INTEGER PRIMARY KEY, k TEXT UNIQUE COLLATE NOCASE",
        "k TEXT COLLATE NOCASE PRIMARY KEY, WITHOUT ROWID",
    ])
    func parentsKeyIsComparedAsSQLiteDoes(_ columns: String) throws {
        let key = columns.hasPrefix("id") ? "id, k" : "k"
        let values = columns.hasPrefix("id") ? "1, 'A'" : "'A'"
        let found = try told(
            """
            CREATE TABLE p(\(columns.replacing(", WITHOUT", with: ") WITHOUT"))\(
                columns.contains("WITHOUT") ? "" : ")");
            CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p(k) ON DELETE CASCADE);
            INSERT INTO p(\(key)) VALUES(\(values)); INSERT INTO c VALUES(7, 'a');
            """, after: "DELETE FROM p")
        let parent = columns.hasPrefix("id") ? "p/1" : "p/A"
        #expect(found == ["-\(parent)", "-c/7 < \(parent)"])
    }

    @Test func tableThatRefersToItself() throws {
        let tree = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, up REFERENCES t ON DELETE CASCADE);
            INSERT INTO t VALUES(1, NULL), (2, 1), (3, 2), (9, 9);
            """
        #expect(
            try told(tree, after: "DELETE FROM t WHERE id = 1") == [
                "-t/1", "-t/2 < t/1", "-t/3 < t/2",
            ])
        #expect(
            try told(tree, after: "DELETE FROM t WHERE id IN (2, 3); DELETE FROM t WHERE id = 1")
                == ["-t/2", "-t/3 < t/2", "-t/1"])
        #expect(try told(tree, after: "DELETE FROM t WHERE id = 9") == ["-t/9"])
    }

    @Test func childOfTwoParentsIsOfTheOneThatTookIt() throws {
        #expect(
            try told(
                """
                CREATE TABLE a(id INTEGER PRIMARY KEY);
                CREATE TABLE b(x, y, a REFERENCES a ON DELETE CASCADE, PRIMARY KEY(x, y));
                CREATE TABLE c(id INTEGER PRIMARY KEY, a REFERENCES a ON DELETE CASCADE, x, y,
                  FOREIGN KEY(x, y) REFERENCES b ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO a VALUES(1), (2); INSERT INTO b VALUES(1, 1, 1), (2, 2, 2);
                INSERT INTO c VALUES(1, 1, 2, 2), (2, 2, 1, 1), (3, NULL, 1, 1);
                """, after: "DELETE FROM b WHERE x = 1; DELETE FROM a WHERE id = 1")
                == ["-b/1,1", "-c/2 < b/1,1", "-c/3 < b/1,1", "-a/1", "-c/1 < a/1"])
    }

    /// A row that takes a UNIQUE value of a child that is gone.
    @Test func freedValueIsTakenAfterwards() throws {
        #expect(
            try told(
                after: "UPDATE child SET n = 11 WHERE id = 1; INSERT INTO child VALUES(4, 6, 10);"
                    + "DELETE FROM parent WHERE id = 5")
                == [
                    "-parent/5", "-child/1 < parent/5", "+child/4", "-grandchild/100 < child/1",
                    "-child/2 < parent/5",
                ])
    }

    // MARK: Parents that go

    /// A foreign program drops the parent's table, or rebuilds it, while nothing of syncd runs.
    @Test(arguments: [false, true]) func parentsTableMayGo(isRebuilt: Bool) throws {
        let database = try TestDatabase(wal: true, Self.family)
        let store = try database.store()
        try database.sql(
            """
            PRAGMA foreign_keys = OFF;
            CREATE TABLE rebuilt(id INTEGER PRIMARY KEY, name TEXT, more);
            INSERT INTO rebuilt SELECT id, name, 0 FROM parent; DROP TABLE parent;
            """ + (isRebuilt ? "ALTER TABLE rebuilt RENAME TO parent" : ""))
        try database.sql("DELETE FROM child WHERE id = 1; UPDATE child SET n = 5 WHERE id = 2")
        #expect(
            try store.poll().transactions.flatMap(\.changes).map(Self.text)
                == ["-child/1", "*child/2"])
        _ = try store.repairCapture()
        guard isRebuilt else { return }
        _ = try store.poll()
        try database.sql("PRAGMA foreign_keys = ON; DELETE FROM parent WHERE id = 5")
        #expect(
            try store.poll().transactions.flatMap(\.changes).map(Self.text)
                == ["-parent/5", "-child/2 < parent/5"])
    }

    /// Renamed by a foreign program, the parent's triggers go on, and SQLite knows its children.
    @Test func parentsTableMayBeRenamed() throws {
        let database = try TestDatabase(wal: true, Self.family)
        let store = try database.store()
        try database.sql("ALTER TABLE parent RENAME TO elder; DELETE FROM elder WHERE id = 5")
        #expect(
            try store.poll().transactions.flatMap(\.changes).map(Self.text)
                == [
                    "-parent/5", "-child/1 < parent/5", "-grandchild/100 < child/1",
                    "-child/2 < parent/5",
                ])
        _ = try store.repairCapture()
        try database.sql("DELETE FROM elder WHERE id = 6")
        #expect(
            try store.poll().transactions.flatMap(\.changes).map(Self.text)
                == ["-elder/6", "-child/3 < elder/6", "-grandchild/101 < child/3"])
    }

    // MARK: Victims that take the updated row along

    private static let chain = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, up REFERENCES t ON DELETE CASCADE, n UNIQUE);
        INSERT INTO t VALUES(1, NULL, 10), (2, 1, 20), (3, 2, 30), (4, NULL, 40);
        """

    /// With recursive_triggers SQLite refuses the statement as soon as there is any delete trigger.
    @Test func victimThatTakesTheUpdatedRowAlongIsTold() throws {
        for (sql, expected) in [
            ("UPDATE OR REPLACE t SET n = 10 WHERE id = 2", ["-t/1", "-t/2", "-t/3"]),
            ("UPDATE OR REPLACE t SET n = 10 WHERE id = 3", ["-t/1", "-t/2", "-t/3"]),
            ("UPDATE OR REPLACE t SET id = 1 WHERE id = 2", ["-t/1", "-t/2", "-t/3"]),
            (
                "UPDATE OR REPLACE t SET n = 10 WHERE id IN (2, 4)",
                ["*t/4", "-t/1", "-t/2", "-t/3"]
            ),
        ] {
            let found = try told(Self.chain, after: sql)
            #expect(
                found.map { String($0.split(separator: " ")[0]) }.sorted() == expected, "\(sql)")
        }
    }

    /// The way back to the table leads through another one.
    @Test func victimThatTakesTheUpdatedRowAlongThroughAnotherTable() throws {
        let found = try told(
            """
            CREATE TABLE a(id INTEGER PRIMARY KEY, b REFERENCES b ON DELETE CASCADE, n UNIQUE);
            CREATE TABLE b(id INTEGER PRIMARY KEY, a REFERENCES a ON DELETE CASCADE);
            INSERT INTO a VALUES(1, NULL, 10); INSERT INTO b VALUES(7, 1);
            INSERT INTO a VALUES(2, 7, 20);
            """, after: "UPDATE OR REPLACE a SET n = 10 WHERE id = 2")
        #expect(
            found.map { String($0.split(separator: " ")[0]) }.sorted() == ["-a/1", "-a/2", "-b/7"])
    }
}
