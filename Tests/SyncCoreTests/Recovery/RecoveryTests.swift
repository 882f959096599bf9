import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// What was written while the triggers were missing is found and recorded.
@Suite(.timeLimit(.minutes(15))) struct RecoveryTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, b)",
            "CREATE TABLE pair(x TEXT, y INTEGER, v, PRIMARY KEY(x, y)) WITHOUT ROWID",
            "INSERT INTO item VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)",
            "INSERT INTO pair VALUES ('p', 1, 'v'), ('q', 2, x'00')")
    }

    /// A store whose fingerprints are up to date.
    private func store(_ options: [String: CaptureOptions] = [:]) throws -> Store {
        let store = try database.store(options)
        #expect(try store.digest() == false)
        return store
    }

    private func recovered(_ store: Store, comparing: Bool = false) throws -> String {
        let report = try store.repairCapture(comparing: comparing)
        let transactions = try store.poll().transactions.filter { $0.flags.contains(.recovered) }
        #expect(report.recoveredCount == transactions.reduce(0) { $0 + $1.changes.count })
        #expect(transactions.count <= 1)
        #expect(try store.digest() == false)
        let again = try store.repairCapture(comparing: true)
        #expect(again.recoveredCount == 0, "what was recorded is known")
        if let transaction = transactions.first {
            #expect(try store.history().last == transaction)
            #expect(transaction.changes.allSatisfy { $0.oldValues == nil })
        }
        return transactions.first?.summary ?? ""
    }

    private func dropTriggers(of table: String) throws {
        for row in try database.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '\(table)'")
        {
            try database.sql("DROP TRIGGER \(row[0].description)")
        }
    }

    @Test(arguments: [true, false]) func changesWithoutTriggersAreFound(undo: Bool) throws {
        let store = try store(["item": CaptureOptions(undo: undo)])
        try dropTriggers(of: "item")
        try database.sql("UPDATE item SET b = 1.0 WHERE id = 1; DELETE FROM item WHERE id = 2")
        try database.sql("INSERT INTO item VALUES (9, 'nine', NULL)")
        #expect(try recovered(store) == "update item/1 a+b, insert item/9, delete item/2")
        let delete = try #require(try store.history().last?.changes.last)
        #expect(delete.tombstone?.pairs.map(\.name) == ["id"], "its values are not known")
    }

    /// The triggers were made for a table that no trigger writes to; they recorded all of it.
    @Test(arguments: [true, false])
    func whatANewTriggerOfTheUserWritesIsToldOnce(undo: Bool) throws {
        let store = try store(["item": CaptureOptions(undo: undo)])
        try database.sql(
            """
            CREATE TRIGGER x AFTER UPDATE OF a ON item BEGIN
              UPDATE item SET b = b + 1 WHERE id = NEW.id;
            END;
            UPDATE item SET a = 'n' WHERE id = 1
            """)
        #expect(try store.verifyCapture().map(\.problem) == [.replacedRowsUnseen])
        #expect(try recovered(store) == "")
        #expect(try store.history().map(\.summary) == ["update item/1 a+b"])
        // And when it is gone again.
        try database.sql("DROP TRIGGER x; UPDATE item SET a = 'm' WHERE id = 1")
        #expect(try store.verifyCapture().map(\.problem) == [.triggersWithoutCauses])
        #expect(try recovered(store) == "")
        #expect(try store.history().map(\.summary).last == "update item/1 a")
    }

    /// The triggers of a table without such an index record all but the rows that it replaces.
    @Test(arguments: [
        "CREATE UNIQUE INDEX x ON item(a)", "CREATE UNIQUE INDEX x ON item(lower(a)) WHERE b > 1",
        "DROP INDEX former", "CREATE UNIQUE INDEX x ON pair(v)", "DROP INDEX former_pair",
    ])
    func whatAUniqueIndexReplacesIsFoundAndNothingElseTold(index: String) throws {
        try database.sql("CREATE UNIQUE INDEX former ON item(b)")
        try database.sql("CREATE UNIQUE INDEX former_pair ON pair(y)")
        let store = try store()
        try database.sql("UPDATE item SET b = 9 WHERE id = 1; INSERT INTO item VALUES (4, 'd', 4)")
        try database.sql("UPDATE pair SET v = 'w' WHERE x = 'p'")
        try database.sql(index)
        #expect(try store.verifyCapture().map(\.problem) == [.replacedRowsUnseen])
        #expect(try recovered(store) == "", "all of it was recorded")

        try database.sql("UPDATE item SET b = 1 WHERE id = 1; DROP INDEX IF EXISTS x")
        _ = try store.repairCapture()
        try database.sql("CREATE UNIQUE INDEX y ON item(a)")
        try database.sql("INSERT OR REPLACE INTO item VALUES (8, 'two', 8)")
        #expect(try recovered(store) == "delete item/2")
    }

    /// An update that is refused leaves what it would have replaced in the guard.
    @Test func aMissedDeleteOfARowInTheGuardIsToldOnce() throws {
        try database.sql("CREATE UNIQUE INDEX x ON item(a)")
        let store = try store()
        try database.sql("UPDATE OR IGNORE item SET a = 'three' WHERE id = 2")
        try database.withoutTriggers { try database.sql("DELETE FROM item WHERE id = 3") }
        #expect(try recovered(store, comparing: true) == "delete item/3")
        try database.sql("INSERT INTO item VALUES (4, 'four', 4)")
        #expect(try store.history().map(\.summary) == ["delete item/3", "insert item/4"])
    }

    /// A column and a UNIQUE index are added, and a row is replaced, before anybody looks.
    @Test(arguments: [true, false]) func whatIsReplacedBesideANewColumnIsFound(
        hadIndex: Bool
    ) throws {
        if hadIndex { try database.sql("CREATE UNIQUE INDEX former ON item(b)") }
        let store = try store()
        try database.sql("UPDATE item SET b = 9 WHERE id = 1")
        try database.sql(
            """
            ALTER TABLE item ADD COLUMN c; CREATE UNIQUE INDEX x ON item(a);
            UPDATE item SET c = 3 WHERE id = 3; UPDATE item SET c = 1 WHERE id = 1;
            INSERT OR REPLACE INTO item VALUES (8, 'two', 8, 8)
            """)
        #expect(
            try recovered(store)
                == "update item/1 c, update item/3 c, update item/8 c, delete item/2")
    }

    /// The statements change no row: a row that was written just before is not told again.
    @Test(arguments: [
        "CREATE UNIQUE INDEX x ON item(a)",
        """
        CREATE TABLE new(id INTEGER PRIMARY KEY, a TEXT, b, c); INSERT INTO new(id, a, b)
        SELECT * FROM item; DROP TABLE item; ALTER TABLE new RENAME TO item
        """,
    ])
    func whatWasWrittenBeforeAnAlterationIsToldOnce(statements: String) throws {
        let store = try store()
        try database.sql("UPDATE item SET a = 'new' WHERE id = 1")
        try Store.alter(database.path, running: statements)
        #expect(try store.history().map(\.summary) == ["update item/1 a"])
        try database.sql("UPDATE item SET a = 'newer' WHERE id = 2")
        #expect(try store.history().last?.summary == "update item/2 a")
    }

    /// Nobody has looked at the other table's index, the new column or the dropped trigger yet.
    @Test(arguments: [
        "CREATE UNIQUE INDEX x ON pair(v)", "CREATE INDEX x ON pair(v)", "DROP TRIGGER own",
        "ALTER TABLE item ADD COLUMN c",
    ])
    func aRebuildWhileTriggersAreOutOfDateTellsNothingAgain(change: String) throws {
        try database.sql(
            """
            CREATE TRIGGER own AFTER UPDATE OF a ON item BEGIN
              UPDATE pair SET v = 1 WHERE x = 'none';
            END
            """)
        let store = try store()
        try database.sql("UPDATE item SET a = 'new' WHERE id = 1; \(change)")
        let columns = "id INTEGER PRIMARY KEY, a TEXT, b\(change.hasSuffix("c") ? ", c" : "")"
        try Store.alter(
            database.path,
            running: """
                CREATE TABLE new(\(columns)); INSERT INTO new SELECT * FROM item;
                DROP TABLE item; ALTER TABLE new RENAME TO item
                """)
        #expect(try store.history().map(\.summary) == ["update item/1 a"])
    }

    /// Two spellings of a key are two objects, though SQLite finds one in place of the other.
    @Test(arguments: ["NOCASE", "RTRIM"], [true, false])
    func aRespelledKeyIsAnotherObject(collation: String, isRecorded: Bool) throws {
        let spelled = collation == "NOCASE" ? "C" : "c "
        try database.sql(
            """
            CREATE TABLE word(id TEXT COLLATE \(collation) PRIMARY KEY NOT NULL, a);
            INSERT INTO word VALUES ('c', 1), ('e', 2)
            """)
        let store = try store()
        let respell = "UPDATE word SET id = '\(spelled)' WHERE id = 'c'"
        if isRecorded {
            try database.sql("\(respell); CREATE UNIQUE INDEX x ON word(a)")
            #expect(try recovered(store) == "")
            try database.sql("DELETE FROM word WHERE id = 'c'")
            #expect(try recovered(store, comparing: true) == "", "both deletes were told")
        } else {
            try dropTriggers(of: "word")
            try database.sql(respell)
            let path = ObjectKey([.text(spelled)]).description
            #expect(try recovered(store) == "insert word/\(path), delete word/c")
        }
    }

    /// Readers know the row without its new value (found by replay, seed 45).
    @Test func aColumnThatIsWrittenAfterItsRowWasToldIsFound() throws {
        let store = try store()
        try database.sql("INSERT INTO item VALUES (7, 'seven', 7)")
        #expect(try store.poll().transactions.map(\.summary) == ["insert item/7"])
        try database.sql("BEGIN; INSERT INTO item VALUES (8, 'eight', 8)")
        try database.sql("ALTER TABLE item ADD COLUMN c; UPDATE item SET c = 1 WHERE id = 7")
        try database.sql("COMMIT")
        #expect(try store.poll().transactions.map(\.summary) == ["insert item/8"])
        #expect(try recovered(store) == "update item/7 c")
    }

    /// The renames of a layout are not those of the repairs that come after it.
    @Test func aKeyWhoseNamesWereExchangedKeepsItsObjects() throws {
        let store = try store()
        for (old, new) in [("x", "z"), ("y", "x"), ("z", "y")] {
            try database.sql("ALTER TABLE pair RENAME COLUMN \(old) TO \(new)")
        }
        #expect(try recovered(store) == "")
        try dropTriggers(of: "pair")
        #expect(try recovered(store, comparing: true) == "")
        #expect(try store.history().isEmpty)
    }

    /// A table that is rebuilt with another PRIMARY KEY has other objects under its name.
    @Test(arguments: [
        (
            "id INTEGER, a TEXT, b, PRIMARY KEY(id, a)",
            "insert item/1,one, insert item/2,two, insert item/3,three"
        ),
        (
            "id INTEGER, a TEXT PRIMARY KEY, b",
            "insert item/one, insert item/two, insert item/three"
        ),
    ])
    func anotherKeyMakesOtherObjects(columns: String, inserts: String) throws {
        let store = try store()
        try database.sql("CREATE TABLE made(\(columns)); INSERT INTO made SELECT * FROM item")
        try database.sql("DROP TABLE item; ALTER TABLE made RENAME TO item")
        #expect(
            try recovered(store) == "delete item/1, delete item/2, delete item/3, " + inserts)
        try database.sql("UPDATE item SET b = 9 WHERE id = 2")
        let key = columns.contains("id, a") ? "2,two" : "two"
        #expect(try store.poll().transactions.map(\.summary) == ["update item/\(key) b"])
    }

    @Test func fewerKeyColumnsMakeOtherObjects() throws {
        let store = try store()
        try database.sql("CREATE TABLE made(x TEXT PRIMARY KEY, y INTEGER, v)")
        try database.sql("INSERT INTO made SELECT * FROM pair")
        try database.sql("DROP TABLE pair; ALTER TABLE made RENAME TO pair")
        #expect(
            try recovered(store)
                == "delete pair/p,1, delete pair/q,2, insert pair/p, insert pair/q")
    }

    @Test func aRebuiltKeyWithANewNameNamesTheSameObjects() throws {
        let store = try store()
        try database.sql("CREATE TABLE made(number INTEGER PRIMARY KEY, a TEXT, b)")
        try database.sql("INSERT INTO made SELECT * FROM item WHERE id > 1")
        try database.sql("DROP TABLE item; ALTER TABLE made RENAME TO item")
        let summary = try recovered(store)
        #expect(summary.contains("delete item/1") && !summary.contains("insert"), "\(summary)")
    }

    @Test func nothingIsRecordedWhenNothingWasMissed() throws {
        let store = try store()
        try dropTriggers(of: "item")
        try dropTriggers(of: "pair")
        #expect(try recovered(store) == "")
        try database.sql("UPDATE item SET a = 'seen' WHERE id = 1; VACUUM")
        #expect(try recovered(store, comparing: true) == "", "the log has it")
        _ = try store.digest()
        #expect(try recovered(store, comparing: true) == "")
    }

    /// Comparing invents no change of a row that the log has, whether it was digested or not.
    @Test(arguments: [true, false]) func comparingInventsNothing(isDigested: Bool) throws {
        let store = isDigested ? try store() : try database.store()
        try database.sql("INSERT INTO item VALUES (4, 'four', 4)")
        try database.sql("UPDATE item SET a = 'new' WHERE id = 2; DELETE FROM item WHERE id = 3")
        try database.withoutTriggers {
            try database.sql("UPDATE item SET a = 'unseen' WHERE id = 1")
        }
        let report = try Store.mend(database.path, comparing: true)
        #expect(report.recoveredCount == 1)
        #expect(report.uncompared.isEmpty)
        #expect(try store.history().last?.summary == "update item/1 a+b")
        #expect(try Store.mend(database.path, comparing: true).recoveredCount == 0)
    }

    /// What one repair recorded is known to the next one, before it is in the history tables too.
    @Test func repairingTwiceRecordsEachChangeOnce() throws {
        try Store.track(database.path)
        let changes = [
            "UPDATE item SET a = 'x' WHERE id = 1", "DELETE FROM item WHERE id = 2",
            "INSERT INTO item VALUES (7, 'seven', 7)", "UPDATE pair SET v = 'w' WHERE x = 'p'",
        ]
        for change in changes {
            for table in ["item", "pair"] { try dropTriggers(of: table) }
            try database.sql(change)
            #expect(try Store.mend(database.path, comparing: true).recoveredCount == 1, "\(change)")
        }
        // The triggers saw one of two changes of a row, and it is not known which.
        try database.sql("UPDATE item SET a = 'seen' WHERE id = 3")
        try dropTriggers(of: "item")
        #expect(try Store.mend(database.path).recoveredCount == 1)
        try dropTriggers(of: "item")
        #expect(try Store.mend(database.path).recoveredCount == 0)
        let told = try Store.open(database.path).history().map(\.summary)
        #expect(
            told == [
                "update item/1 a+b", "delete item/2", "insert item/7", "update pair/p,1 v",
                "update item/3 a", "update item/3 a+b",
            ])
    }

    /// Tracked, and then nobody but the writers: no daemon, no command.
    @Test func tablesThatWereJustTrackedCanBeCompared() throws {
        try Store.track(database.path)
        try database.sql(
            """
            BEGIN;
            CREATE TABLE made(id INTEGER PRIMARY KEY, a TEXT, b, c);
            INSERT INTO made SELECT id, a, b, 0 FROM item;
            DROP TABLE item;
            ALTER TABLE made RENAME TO item;
            COMMIT;
            UPDATE item SET a = 'changed' WHERE id = 1;
            DELETE FROM item WHERE id = 2;
            INSERT INTO item VALUES (5, 'five', 5, 5)
            """)
        let report = try Store.mend(database.path)
        #expect(report.uncompared.isEmpty)
        let told = try #require(try Store.open(database.path).history().last)
        #expect(told.flags.contains(.recovered))
        let names = Set(told.changes.map { "\($0.kind.name) \($0.object.path)" })
        #expect(names.isSuperset(of: ["update item/1", "delete item/2", "insert item/5"]))
        #expect(!names.contains("delete item/3") && !names.contains("insert item/3"))
    }

    @Test func compositeKeysAndTablesWithoutRowID() throws {
        let store = try store()
        try dropTriggers(of: "pair")
        try database.sql("DELETE FROM pair WHERE x = 'p'; INSERT INTO pair VALUES ('r', 3, 1)")
        try database.sql("UPDATE pair SET v = NULL WHERE x = 'q'")
        #expect(try recovered(store) == "update pair/q,2 v, insert pair/r,3, delete pair/p,1")
    }

    @Test func rebuiltTable() throws {
        let store = try store()
        try database.sql(
            """
            BEGIN;
            CREATE TABLE new(id INTEGER PRIMARY KEY, a TEXT, b, c DEFAULT 'c');
            INSERT INTO new(id, a, b) SELECT id, a, b FROM item WHERE id > 1;
            UPDATE new SET c = 'other' WHERE id = 3;
            DROP TABLE item; ALTER TABLE new RENAME TO item; COMMIT
            """)
        #expect(try recovered(store) == "update item/3 c, delete item/1")
        try database.sql("UPDATE item SET c = 'x' WHERE id = 2")
        #expect(try store.poll().transactions.map(\.summary) == ["update item/2 c"])
    }

    @Test func addedColumnThatWasWrittenBeforeItWasRecorded() throws {
        let store = try store()
        try database.sql("ALTER TABLE item ADD COLUMN c TEXT DEFAULT 'c'")
        try database.sql("UPDATE item SET c = 'x' WHERE id = 2")
        #expect(try recovered(store) == "update item/2 c")
    }

    @Test func addedAndRenamedColumnsAreNoChange() throws {
        let store = try store()
        try database.sql(
            "ALTER TABLE item ADD COLUMN c; ALTER TABLE item RENAME COLUMN a TO title")
        #expect(try recovered(store) == "")
        try dropTriggers(of: "item")
        try database.sql("UPDATE item SET title = 'x' WHERE id = 3")
        #expect(try recovered(store) == "update item/3 title+b+c")
    }

    @Test func droppedTable() throws {
        let store = try store()
        try database.sql("DROP TABLE pair")
        #expect(try recovered(store) == "delete pair/p,1, delete pair/q,2")
    }

    @Test func newTablesAreRecordedWhereAllAre() throws {
        let store = try store()
        try database.sql("CREATE TABLE later(k TEXT PRIMARY KEY); INSERT INTO later VALUES ('x')")
        #expect(try recovered(store) == "insert later/x")
        try database.sql("INSERT INTO later VALUES ('y')")
        #expect(try store.poll().transactions.map(\.summary) == ["insert later/y"])
    }

    /// A rebuild one statement after the other, with somebody looking in the middle of it.
    @Test func aTableThatTookAnothersNameIsRecordedOnce() throws {
        let store = try store()
        try database.sql("CREATE TABLE new(id INTEGER PRIMARY KEY, a TEXT, b)")
        #expect(try recovered(store) == "")
        try database.sql("INSERT INTO new SELECT * FROM item; DROP TABLE item")
        try database.sql("ALTER TABLE new RENAME TO item")
        try store.repairCapture()
        _ = try store.poll()
        try database.sql("UPDATE item SET a = 'x' WHERE id = 1")
        #expect(try store.poll().transactions.map(\.summary) == ["update item/1 a"])
        let owners = try database.rows(
            "SELECT count(DISTINCT substr(name, 1, 8)) FROM sqlite_schema WHERE tbl_name = 'item' "
                + "AND type = 'trigger'")
        #expect(owners == [[1]])
        #expect(try store.verifyCapture().isEmpty)
    }

    @Test func newTablesAreLeftAloneWhereSomeWereChosen() throws {
        try Store.track(database.path, entities: .only(["item"]))
        let store = try Store.open(database.path)
        #expect(try store.digest() == false)
        try database.sql("CREATE TABLE later(k TEXT PRIMARY KEY); INSERT INTO later VALUES ('x')")
        #expect(try recovered(store) == "")
        #expect(try store.status().entities == ["item"])
    }

    @Test func writersWithTriggersSwitchedOffAreFoundByComparing() throws {
        let store = try store()
        try database.withoutTriggers { try database.sql("DELETE FROM item WHERE id = 3") }
        #expect(try store.poll().transactions.isEmpty)
        #expect(try recovered(store, comparing: true) == "delete item/3")
    }

    /// Random writes, some of them unseen: history replayed gives the keys that are there, and
    /// names every object whose values are others than before.
    @Test(arguments: TestSeed.first(12)) func randomGapsAreClosed(seed: TestSeed) throws {
        var random = seed.random
        let isText = random.once(in: 2)
        let key = isText ? "TEXT COLLATE NOCASE PRIMARY KEY NOT NULL" : "INTEGER PRIMARY KEY"
        let columns = "id \(key), a TEXT, b"
        /// The object of a number, as a literal; of a text, in one of two spellings.
        func name(_ number: Int) -> String {
            isText ? "'\(random.pick(["k", "K"]))\(number)'" : "\(number)"
        }
        func values(_ number: Int) -> [Value] {
            isText ? [.text("k\(number)"), .text("K\(number)")] : [.integer(Int64(number))]
        }
        try database.sql("DROP TABLE item; CREATE TABLE item(\(columns))")
        for number in 1...3 {
            try database.sql("INSERT INTO item VALUES (\(name(number)), 'x', \(number))")
        }
        let store = try store()
        var keys = Set(try database.rows("SELECT id FROM item").map { $0[0] })
        var token = try store.head()
        // Objects that were written since the table was last compared.
        var written: Set<Value> = []
        var (hasColumn, hasTrigger, hasIndex, hasOther) = (false, false, false, false)
        for _ in 0..<12 {
            // The schema changes, and nobody looks.
            if random.once(in: 4) {
                try database.sql(hasOther ? "DROP INDEX other" : "CREATE INDEX other ON pair(v)")
                hasOther.toggle()
            }
            if random.once(in: 6) {
                try Store.alter(
                    database.path,
                    running: """
                        CREATE TABLE made(\(columns)\(hasColumn ? ", c" : ""));
                        INSERT INTO made SELECT * FROM item;
                        DROP TABLE item; ALTER TABLE made RENAME TO item
                        """)
                (hasTrigger, hasIndex) = (false, false)
            }
            // What it replaces is found when the triggers are made right.
            var isIndexUnseen = false
            if random.once(in: 4) {
                let clashing = "FROM item WHERE a GLOB 'r*'"
                written.formUnion(try database.rows("SELECT id \(clashing)").map { $0[0] })
                try database.sql("UPDATE item SET a = 'v' || id WHERE a GLOB 'r*'")
                let index =
                    hasIndex
                    ? "DROP INDEX once" : "CREATE UNIQUE INDEX once ON item(a) WHERE a GLOB 'r*'"
                isIndexUnseen = random.once(in: 2)
                if isIndexUnseen {
                    try database.sql(index)
                } else {
                    try Store.alter(database.path, running: index)
                }
                hasIndex.toggle()
            }
            let before = try database.rows("SELECT id, a, b FROM item ORDER BY id")
            if random.once(in: 4) {
                try Store.alter(
                    database.path,
                    running: "ALTER TABLE item \(hasColumn ? "DROP" : "ADD") COLUMN c")
                hasColumn.toggle()
            }
            if random.once(in: 4) {
                try database.sql(
                    hasTrigger
                        ? "DROP TRIGGER own"
                        : """
                        CREATE TRIGGER own AFTER UPDATE OF a ON item BEGIN
                          UPDATE item SET b = coalesce(b, 0) + 1 WHERE id = NEW.id;
                        END
                        """)
                hasTrigger.toggle()
            }
            let isCompared = random.once(in: 2)
            // Without triggers, or with triggers switched off.
            let isDropped = isCompared && random.once(in: 2)
            if isDropped {
                try dropTriggers(of: "item")
                hasTrigger = false
            } else if isCompared {
                try store.repairCapture()
                while try store.digest() {}
            }
            func write(_ sql: String) throws {
                if isCompared, !isDropped {
                    try database.withoutTriggers { try database.sql(sql) }
                } else {
                    try database.sql(sql)
                }
            }
            for _ in 0..<random.below(8) {
                let (number, new) = (random.below(12), random.below(12))
                let (id, other) = (name(number), name(new))
                written.formUnion(values(number) + values(new))
                try write(
                    random.pick([
                        "INSERT OR REPLACE INTO item(id, a, b) VALUES (\(id), 'r\(random.below(4))', \(number))",
                        "DELETE FROM item WHERE id = \(id)",
                        "UPDATE item SET a = 'u\(random.below(4))' WHERE id = \(id)",
                        "UPDATE OR IGNORE item SET id = \(other) WHERE id = \(id)",
                    ]))
            }
            if random.once(in: 3) { _ = try store.digest() }
            try store.repairCapture(comparing: isCompared && !isDropped)
            var touched: Set<Value> = []
            var query = HistoryQuery()
            query.after = token
            for transaction in try store.history(query) {
                let isTwice =
                    transaction.flags.contains(.recovered)
                    && !(isIndexUnseen && transaction.changes.allSatisfy { $0.kind == .delete })
                #expect(isCompared || !isTwice, "\(seed): told twice")
                for change in transaction.changes {
                    let key = change.object.key.values[0]
                    touched.insert(key)
                    if change.kind == .delete { keys.remove(key) } else { keys.insert(key) }
                }
                token = transaction.token
            }
            let after = try database.rows("SELECT id, a, b FROM item ORDER BY id")
            #expect(keys == Set(after.map { $0[0] }), "\(seed)")
            for row in before + after where before.contains(row) != after.contains(row) {
                #expect(touched.contains(row[0]), "\(seed): \(row)")
            }
            let replaced = before.map { $0[0] }.filter { id in !after.contains { $0[0] == id } }
            #expect(
                touched.isSubset(of: written.union(replaced)), "\(seed): recorded again")
            if isCompared { written = [] }
            if random.once(in: 2) { #expect(try store.digest() == false) }
        }
    }
}
