import SyncMerge
import SyncTesting
import Testing

@testable import SyncReplica
@testable import SyncValues

/// Rows that SQLite takes for rivals of one UNIQUE value, although facts name what they refer to in
/// different ways.
@Suite("Merging: UNIQUE over references")
struct UniqueReferenceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A schema, and what two replicas write: the first refers to nothing.
    struct Clash: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let schema: String
        let loose: String
        let real: String
        /// What each replica has after an exchange: the number in place of a reference is a text.
        let expected: [[Value]]
    }

    private static let person = "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);"
    private static let meeting =
        person + """
            CREATE TABLE meeting(person INT REFERENCES person(id), day TEXT, x TEXT,
              PRIMARY KEY(person, day)) WITHOUT ROWID;
            """
    private static let eva = "INSERT INTO person VALUES (7, 'Eva');"

    static let numbers: [Clash] = [
        Clash(
            testDescription: "one column",
            schema: person
                + "CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT UNIQUE REFERENCES person, x)",
            loose: "INSERT INTO pass VALUES (5, 7, 'a')",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'b')",
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "NOT NULL and CASCADE",
            schema: person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY,
                  p INT NOT NULL UNIQUE REFERENCES person ON DELETE CASCADE, x)
                """,
            loose: "INSERT INTO pass VALUES (5, 7, 'a')",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'b')",
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "several columns",
            schema: person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT REFERENCES person, x, UNIQUE(x, p))
                """,
            loose: "INSERT INTO pass VALUES (5, 7, 'mon')",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'mon')",
            expected: [["none", "mon"], ["Eva", "mon"]]),
        Clash(
            testDescription: "an update",
            schema: person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT UNIQUE REFERENCES person, x);
                INSERT INTO pass VALUES (5, NULL, 'a')
                """,
            loose: "UPDATE pass SET p = 7",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'b')",
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "a part of the rows",
            schema: person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT REFERENCES person, x, main INT);
                CREATE UNIQUE INDEX one ON pass(p) WHERE main = 1
                """,
            loose: "INSERT INTO pass VALUES (5, 7, 'a', 1)",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'b', 1)",
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "an expression",
            schema: person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT REFERENCES person, x);
                CREATE UNIQUE INDEX one ON pass(coalesce(p, 0))
                """,
            loose: "INSERT INTO pass VALUES (5, 7, 'a')",
            real: eva + "INSERT INTO pass VALUES (9, 7, 'b')",
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "a composite key of a reference",
            schema: meeting + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT, day TEXT, x,
                  FOREIGN KEY(p, day) REFERENCES meeting, UNIQUE(p, day))
                """,
            loose: "INSERT INTO pass VALUES (5, 7, 'mon', 'a')",
            real: eva + """
                INSERT INTO meeting VALUES (7, 'mon', 'b'); INSERT INTO pass VALUES (9, 7, 'mon', 'b')
                """,
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "a composite reference that is NULL in a part",
            schema: meeting + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT UNIQUE, day TEXT, x,
                  FOREIGN KEY(p, day) REFERENCES meeting)
                """,
            loose: "INSERT INTO pass VALUES (5, 7, NULL, 'a')",
            real: eva + """
                INSERT INTO meeting VALUES (7, 'mon', 'b'); INSERT INTO pass VALUES (9, 7, 'mon', 'b')
                """,
            expected: [["none", "a"], ["Eva", "b"]]),
        Clash(
            testDescription: "a key to which rows refer",
            schema: person + """
                CREATE TABLE pass(p INT REFERENCES person, x, PRIMARY KEY(p)) WITHOUT ROWID;
                CREATE TABLE stamp(id INTEGER PRIMARY KEY, p INT UNIQUE REFERENCES pass)
                """,
            loose: "INSERT INTO pass VALUES (7, 'a'); INSERT INTO stamp VALUES (1, 7)",
            real: eva + "INSERT INTO pass VALUES (7, 'b'); INSERT INTO stamp VALUES (2, 7)",
            expected: [["none", "a"], ["Eva", "b"]]),
    ]

    @Test(
        "a reference to nothing, whose number a row has elsewhere, leads to nothing on each replica",
        arguments: numbers, [true, false])
    func looseNumber(_ clash: Clash, isLooseFirst: Bool) throws {
        let (a, b) = try verified(clash.schema)
        try a.run("PRAGMA foreign_keys = OFF; \(clash.loose)")
        try b.run(clash.real)
        try isLooseFirst ? b.pull(from: a) : a.pull(from: b)
        try TestStore.sync(a, b)
        let query = """
            SELECT coalesce(name, 'none'), x FROM pass LEFT JOIN person ON person.id = pass.p
            ORDER BY x, name NOT NULL
            """
        for store in [a, b] {
            #expect(try store.rows(query) == clash.expected)
            #expect(try store.rows("PRAGMA integrity_check") == [["ok"]])
        }
        #expect(try a.dump() == b.dump())
        #expect(try a.replica.sums == b.replica.sums)
        let c = try a.copy(at: folder.file("c.db"))
        #expect(try c.rows(query) == clash.expected)
        // What is written afterwards arrives.
        try a.run("UPDATE pass SET x = x || '2'")
        try b.run("INSERT INTO person VALUES (50, 'Max')")
        try TestStore.sync(a, b, c)
        #expect(try a.dump() == b.dump())
        #expect(try a.dump() == c.dump())
    }

    @Test("replicas that replace one number at the same time agree, and log it")
    func replacedAtOnce() throws {
        let clash = Self.numbers[0]
        let (a, b) = try verified(clash.schema)
        let c = try a.copy(at: folder.file("c.db"))
        try a.run("PRAGMA foreign_keys = OFF; \(clash.loose)")
        try b.run(clash.real)
        let toA = try b.replica.batches(since: a.replica.vector)
        let toB = try a.replica.batches(since: b.replica.vector)
        try c.pull(from: a)
        try c.pull(from: b)
        for batch in toA { #expect(try a.replica.merge(batch)) }
        for batch in toB { #expect(try b.replica.merge(batch)) }
        try TestStore.sync(a, b, c)
        for store in [a, b, c] {
            #expect(try store.rows("SELECT count(*) FROM pass") == [[2]])
            #expect(try store.replica.conflicts().isEmpty)
            #expect(
                try store.rows("SELECT count(*) FROM syncd_conflict WHERE closed NOT NULL")
                    == [[1]])
        }
        #expect(try a.dump() == b.dump())
        #expect(try a.dump() == c.dump())
    }

    @Test("a number is replaced alone: what a repair hides of its cell is not lost, and stays open")
    func repairedBeside() throws {
        let (a, b) = try verified(
            Self.person + """
                CREATE TABLE pass(id INTEGER PRIMARY KEY, p INT REFERENCES person,
                  q INT REFERENCES person ON DELETE SET NULL, CHECK(p IS NOT q));
                CREATE UNIQUE INDEX one ON pass(coalesce(p, 0));
                INSERT INTO person VALUES (3, 'Max')
                """)
        try a.run("PRAGMA foreign_keys = OFF; INSERT INTO pass VALUES (5, 7, 3)")
        try b.run("DELETE FROM person; \(Self.eva) INSERT INTO pass VALUES (9, 7, NULL)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT count(*) FROM pass WHERE p < 0 AND q IS NULL") == [[1]])
            let open = try store.replica.conflicts()
            #expect(open.contains { $0.properties.contains("q") }, "\(open)")
        }
        #expect(try a.dump() == b.dump())
        let open = try a.replica.conflicts()
        let lost = try #require(open.first { $0.properties.contains("q") })
        try a.replica.resolve(lost.id, keeping: .losing, author: "judge")
        try TestStore.sync(a, b)
        for store in [a, b] {
            let names = "SELECT name FROM pass JOIN person ON person.id = q"
            #expect(try store.rows(names) == [["Max"]])
        }
    }

    @Test("what others do with the row at the same time is kept, or is an open conflict")
    func writtenMeanwhile() throws {
        for statement in ["DELETE FROM pass", "UPDATE pass SET p = 4", "UPDATE pass SET x = 'c'"] {
            let folder = try TemporaryFolder()
            let (a, b) = try TestStore.pair(
                in: folder,
                schema: Self.numbers[0].schema + ";INSERT INTO person VALUES (4, 'Ida')")
            try a.run("PRAGMA foreign_keys = OFF; \(Self.numbers[0].loose)")
            let c = try a.copy(at: folder.file("c.db"))
            try c.run(statement)
            try b.run(Self.numbers[0].real)
            try b.pull(from: a)
            try TestStore.sync(a, b, c)
            try TestStore.sync(a, b, c)
            let conflicts = try a.replica.conflicts()
            for store in [a, b, c] {
                #expect(try store.dump() == a.dump())
                #expect(try store.rows("SELECT p FROM pass WHERE x = 'b'") == [[7]])
                #expect(try store.replica.conflicts().count == conflicts.count)
                let rows = try store.rows("SELECT p < 0, x FROM pass WHERE id = 5")
                switch statement {
                case "DELETE FROM pass": #expect(rows.isEmpty)
                case "UPDATE pass SET p = 4":
                    let isEdited = rows == [[0, "a"]]
                    #expect(isEdited || rows == [[1, "a"]])
                    #expect(isEdited || conflicts.contains { $0.losing.values["p"] == 4 })
                default: #expect(rows == [[1, "c"]])
                }
            }
        }
    }

    @Test("where rows share their numbers, a number that led to nothing leads to nothing, too")
    func sharedNumber() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.numbers[0].schema)
        try a.replica.setPolicies(MergePolicies(entities: ["person": .init(identity: .shared)]))
        let b = try verifying(try a.copy(at: folder.file("b.db")))
        try a.run("PRAGMA foreign_keys = OFF; \(Self.numbers[0].loose)")
        try b.run(Self.numbers[0].real)
        try a.run("INSERT INTO person VALUES (8, 'Ida')")
        try b.run("INSERT INTO person VALUES (8, 'Max')")
        try b.pull(from: a)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT id, p < 0 FROM pass ORDER BY id") == [[5, 1], [9, 0]])
            #expect(try store.rows("SELECT name FROM person WHERE id = 7") == [["Eva"]])
        }
        #expect(try a.dump() == b.dump())
        #expect(try a.replica.sums == b.replica.sums)
    }

    @Test("a row that came after its number was stated is referred to by all")
    func rowCameLater() throws {
        for isEdited in [false, true] {
            let folder = try TemporaryFolder()
            let (a, b) = try TestStore.pair(in: folder, schema: Self.numbers[0].schema)
            try a.run("PRAGMA foreign_keys = OFF; \(Self.numbers[0].loose)")
            _ = try a.replica.vector
            try a.run("INSERT INTO person VALUES (7, 'Zoe')")
            if isEdited { try a.run("UPDATE pass SET p = NULL; UPDATE pass SET p = 7") }
            try b.run(Self.numbers[0].real)
            try TestStore.sync(a, b)
            let c = try a.copy(at: folder.file("c.db"))
            let names = "SELECT x, name FROM pass LEFT JOIN person ON person.id = p ORDER BY x"
            for store in [a, b, c] {
                #expect(try store.rows(names) == [["a", "Zoe"], ["b", "Eva"]])
                #expect(try store.replica.conflicts().isEmpty)
            }
            #expect(try a.rows("SELECT p FROM pass WHERE x = 'a'") == [[7]])
            #expect(try a.replica.sums == b.replica.sums)
        }
    }

    @Test("a number in nobody's way stays, and nothing is stated")
    func nobodysWay() throws {
        let (a, b) = try verified(Self.numbers[0].schema)
        try a.run("PRAGMA foreign_keys = OFF; \(Self.numbers[0].loose)")
        try b.run(Self.eva + "INSERT INTO pass VALUES (9, NULL, 'b')")
        try TestStore.sync(a, b)
        let vector = try a.replica.vector
        try TestStore.sync(a, b)
        #expect(try a.replica.vector == vector && b.replica.vector == vector)
        for store in [a, b] {
            #expect(try store.rows("SELECT p FROM pass ORDER BY id") == [[7], [.null]])
            #expect(try store.replica.conflicts().isEmpty)
        }
    }

    /// Rows whose rivals are known once what these refer to is.
    static let values: [Clash] = [
        Clash(
            testDescription: "a text that refers to nothing",
            schema: """
                CREATE TABLE tag(k TEXT PRIMARY KEY);
                CREATE TABLE item(id INTEGER PRIMARY KEY, tag TEXT UNIQUE REFERENCES tag, x)
                """,
            loose: "INSERT INTO item VALUES (5, 'q', 'a')",
            real: "INSERT INTO tag VALUES ('q'); INSERT INTO item VALUES (9, 'q', 'b')",
            expected: [["q", "b"]]),
        Clash(
            testDescription: "NOCASE",
            schema: """
                CREATE TABLE tag(k TEXT PRIMARY KEY);
                CREATE TABLE item(id INTEGER PRIMARY KEY,
                  tag TEXT COLLATE NOCASE UNIQUE REFERENCES tag, x);
                INSERT INTO tag VALUES ('q'), ('Q')
                """,
            loose: "INSERT INTO item VALUES (5, 'Q', 'a')",
            real: "INSERT INTO item VALUES (9, 'q', 'b')", expected: [["q", "b"]]),
        Clash(
            testDescription: "an expression",
            schema: """
                CREATE TABLE tag(k TEXT PRIMARY KEY);
                CREATE TABLE item(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag, x);
                CREATE UNIQUE INDEX low ON item(lower(tag));
                INSERT INTO tag VALUES ('q'), ('Q')
                """,
            loose: "INSERT INTO item VALUES (5, 'Q', 'a')",
            real: "INSERT INTO item VALUES (9, 'q', 'b')", expected: [["q", "b"]]),
        Clash(
            testDescription: "a part of a composite reference",
            schema: """
                CREATE TABLE room(house TEXT, door INT, PRIMARY KEY(house, door)) WITHOUT ROWID;
                CREATE TABLE item(id INTEGER PRIMARY KEY, tag TEXT UNIQUE, door INT, x,
                  FOREIGN KEY(tag, door) REFERENCES room);
                INSERT INTO room VALUES ('q', 1), ('q', 2)
                """,
            loose: "INSERT INTO item VALUES (5, 'q', 1, 'a')",
            real: "INSERT INTO item VALUES (9, 'q', 2, 'b')", expected: [["q", "b"]]),
    ]

    @Test(
        "rows that claim a value through references to different rows are rivals",
        arguments: values, [true, false])
    func referredValue(_ clash: Clash, isLooseFirst: Bool) throws {
        let (a, b) = try verified(clash.schema)
        try a.run("PRAGMA foreign_keys = OFF; \(clash.loose)")
        try b.run(clash.real)
        try isLooseFirst ? b.pull(from: a) : a.pull(from: b)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT tag, x FROM item") == clash.expected)
        }
        let conflicts = try a.replica.conflicts()
        #expect(!conflicts.isEmpty)
        #expect(try b.replica.conflicts().count == conflicts.count)
    }

    /// A pair whose tables are compared with the view of all facts after each step.
    private func verified(_ schema: String) throws -> (TestStore, TestStore) {
        let (a, b) = try TestStore.pair(in: folder, schema: schema)
        return (try verifying(a), try verifying(b))
    }

    private func verifying(_ store: TestStore) throws -> TestStore {
        try store.replica.close()
        let replica = try StoreReplica(
            store.path, wall: { Timestamp.now().milliseconds }, isVerifying: true, mayDangle: true)
        return try TestStore(store.path, replica)
    }
}
