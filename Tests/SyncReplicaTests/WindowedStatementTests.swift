import SyncMerge
import SyncTesting
import Testing

@testable import SyncReplica

@Suite("First statement of a long log")
struct WindowedStatementTests {
    @Test("a log that is read in windows states what one in memory states")
    func waysAgree() throws {
        let folder = try TemporaryFolder()
        var (windowed, refusals) = (0, 0)
        for seed in TestSeed.first(20) {
            let path = folder.file("\(seed.value).db")
            try Self.makeStore(at: path, seed: seed.value)
            for windowMax in [1, 4, 15, 60] {
                let tally = try Self.compare(path, windowMax: windowMax, "\(seed), \(windowMax)")
                if tally.windowedObjects > 0 { windowed += 1 }
                if !tally.statementRefusals.isEmpty { refusals += 1 }
            }
        }
        guard TestSeed.given == nil else { return }
        #expect(windowed >= 20, "\(windowed) with windows, \(refusals) not")
        #expect(refusals >= 5, "\(windowed) with windows, \(refusals) not")
    }

    @Test(
        "what a window cannot say is stated with the log in memory",
        arguments: [
            ("delete", "DELETE FROM child WHERE id = 1; INSERT INTO child VALUES (1, 1, 'x', 1)"),
            (
                "reference",
                """
                PRAGMA foreign_keys = OFF; BEGIN; INSERT INTO node VALUES (1, 2), (2, NULL);
                COMMIT
                """
            ),
            ("key", "UPDATE child SET id = 12 WHERE id = 1"),
        ])
    func refusals(reason: String, sql: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let writer = try Self.makeTables(at: path)
        try writer.run(
            "INSERT INTO parent VALUES (1, 'a'); INSERT INTO child VALUES (1, 1, 'x', 1)")
        try Store.track(path)
        try writer.run(sql)
        writer.close()
        let tally = try Self.compare(path, windowMax: 1, sql)
        #expect(tally.statementRefusals == [reason: 1])
        #expect(tally.windowedObjects == 0)
        #expect(tally.plainObjects > 0)
    }

    /// States what the store has with windows and without.
    private static func compare(
        _ path: String, windowMax: Int, _ title: String
    ) throws -> MergeTally {
        let whole = try StoreReplica(path, wall: { 5 }, olderRowsMax: 7)
        let windowed = try StoreReplica(
            path, wall: { 5 }, isVerifying: true, olderRowsMax: 7, windowMax: windowMax)
        let expected = try SyncdTables.stated(by: whole)
        let found = try SyncdTables.stated(by: windowed)
        for table in Set(expected.keys).union(found.keys).sorted() {
            #expect(found[table] == expected[table], "\(title): \(table)")
        }
        #expect(whole.tally.windowedObjects == 0)
        let tally = windowed.tally
        try whole.close()
        try windowed.close()
        return tally
    }

    private static func makeTables(at path: String) throws -> PlainConnection {
        let writer = try PlainConnection(path, wal: true)
        try writer.run(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE tag(k TEXT PRIMARY KEY, color);
            CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent, note TEXT,
              n REAL CHECK (n < 1000));
            CREATE TABLE node(id INTEGER PRIMARY KEY, next INTEGER REFERENCES node);
            CREATE TABLE tagged(tag TEXT REFERENCES tag, child INTEGER REFERENCES child,
              since TEXT, PRIMARY KEY (tag, child)) WITHOUT ROWID;
            """)
        return writer
    }

    /// Rows of before tracking and of after it, with changes of both.
    private static func makeStore(at path: String, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let writer = try makeTables(at: path)
        try write(random.pick([0, 10, 40]), by: writer, &random)
        try Store.track(path)
        try write(random.pick([10, 40, 80]), by: writer, &random)
        writer.close()
    }

    private static func write(
        _ count: Int, by writer: PlainConnection, _ random: inout SeededRandom
    ) throws {
        for _ in 0..<count {
            var statements: [String] = []
            for _ in 0..<random.pick([1, 1, 2, 5]) {
                let (id, other) = (Int(random.next() % 40), Int(random.next() % 40))
                statements += random.pick([
                    ["INSERT OR IGNORE INTO parent VALUES (\(id), 'p\(other)')"],
                    ["INSERT OR IGNORE INTO tag VALUES ('T\(id % 9)', \(other))"],
                    [
                        """
                        INSERT OR IGNORE INTO child SELECT \(id + 100 * other), id, 'n', \(id)
                        FROM parent ORDER BY (id * \(other + 1)) % 41 LIMIT 1
                        """
                    ],
                    ["INSERT OR IGNORE INTO child VALUES (NULL, NULL, x'01', NULL)"],
                    ["INSERT OR IGNORE INTO node SELECT \(id), max(id) FROM node"],
                    [
                        """
                        INSERT OR IGNORE INTO tagged SELECT k, child.id, '\(id)'
                        FROM tag, child ORDER BY (child.id * \(other + 1)) % 41 LIMIT 1
                        """
                    ],
                    ["UPDATE child SET note = note || '\(id)' WHERE id % 20 = \(other % 20)"],
                    ["UPDATE child SET n = \(id), note = NULL WHERE id % 20 = \(other % 20)"],
                    ["UPDATE parent SET name = name || '\(id)' WHERE id % 10 = \(other % 10)"],
                    ["UPDATE tagged SET since = '\(other)' WHERE child % 10 = \(id % 10)"],
                    ["DELETE FROM tagged WHERE child % 30 = \(id % 30)"],
                    random.next() % 4 == 0 ? ["DELETE FROM child WHERE id = \(id)"] : [],
                ])
            }
            try? writer.run(
                "BEGIN; " + statements.map { $0 + "; " }.joined() + "COMMIT")
            _ = try? writer.run("ROLLBACK")
        }
    }
}
