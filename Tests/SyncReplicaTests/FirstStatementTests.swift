import SyncMerge
import SyncTesting
import Testing

@testable import SyncReplica

@Suite("First statement")
struct FirstStatementTests {
    /// What may differ: the numbers of the rows of `syncd_object`, which are given in the order of
    /// the keys, or of the identities. In UTF-16 files also the order of rows that are older than
    /// history in the list of their transaction, where text has other letters than ASCII.
    @Test("rows are stated the same row by row and by a view of all of them")
    func waysAgree() throws {
        let folder = try TemporaryFolder()
        var plain = 0
        for seed in TestSeed.first(25) {
            let path = folder.file("\(seed.value).db")
            try UnstatedStore.make(seed: seed.value, at: path)
            let obstacles = try Self.obstacles(at: path, seed.description)
            if obstacles.isEmpty { plain += 1 }
        }
        guard TestSeed.given == nil else { return }
        #expect(plain >= 12, "most schemas need no view: \(plain) of 25")
    }

    @Test(
        "rows that need a view are stated by one, all others without",
        arguments: [
            (nil, "PRAGMA foreign_keys = OFF; INSERT INTO child VALUES (7, 99, 'x')"),
            (nil, "CREATE UNIQUE INDEX one ON child(parent, note)"),
            (nil, "CREATE UNIQUE INDEX one ON child(parent) WHERE note = 'a'"),
            (.computedReference, "CREATE UNIQUE INDEX one ON child(note) WHERE parent = 1"),
            (.computedReference, "CREATE UNIQUE INDEX one ON child(parent + 1)"),
            (
                nil,
                """
                CREATE TABLE tag(k TEXT PRIMARY KEY COLLATE NOCASE);
                CREATE TABLE used(id INTEGER PRIMARY KEY, tag TEXT UNIQUE REFERENCES tag);
                INSERT INTO tag VALUES ('Home'); INSERT INTO used VALUES (1, 'home'), (2, 'Home')
                """
            ),
            (
                nil,
                """
                CREATE TABLE tag(k TEXT PRIMARY KEY COLLATE NOCASE);
                CREATE TABLE tagged(tag TEXT REFERENCES tag CHECK (tag <> 'x'), n INTEGER,
                  PRIMARY KEY (tag, n)) WITHOUT ROWID;
                INSERT INTO tag VALUES ('Home'), (NULL); INSERT INTO tagged VALUES ('home', 1.5)
                """
            ),
            (
                .checkedKeyOfKeys,
                """
                CREATE TABLE a(k TEXT PRIMARY KEY); CREATE TABLE b(k TEXT PRIMARY KEY REFERENCES a);
                CREATE TABLE c(k TEXT PRIMARY KEY, b TEXT REFERENCES b CHECK (b <> 'x'));
                INSERT INTO a VALUES ('1'); INSERT INTO b VALUES ('1'); INSERT INTO c VALUES (1, 1)
                """
            ),
        ] as [(StatementObstacle?, String)])
    func obstacles(expected: StatementObstacle?, sql: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        try Self.makeStore(at: path, sql)
        let found = try Self.obstacles(at: path, sql)
        #expect(found == (expected.map { [$0.rawValue: 1] } ?? [:]))
    }

    /// There are no facts that show such rows.
    @Test(
        "a row that its own table refuses is named before anything is stated, by both ways",
        arguments: [
            (
                """
                CREATE TABLE low(id INTEGER PRIMARY KEY, n INTEGER CHECK (n
                  < 5));
                PRAGMA ignore_check_constraints = ON; INSERT INTO low VALUES (1, 4), (7, 9)
                """, "row 7 of low breaks the table's own constraint, CHECK (n < 5)",
                "PRAGMA integrity_check"
            ),
            (
                """
                CREATE TABLE low(k TEXT PRIMARY KEY, n INTEGER); INSERT INTO low VALUES ('a', NULL);
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'n INTEGER', 'n INTEGER NOT NULL')
                WHERE name = 'low'
                """, "row 'a' of low breaks the table's own constraint, NOT NULL of n",
                "PRAGMA integrity_check"
            ),
            (
                """
                CREATE TABLE pair(id INTEGER PRIMARY KEY, one INTEGER REFERENCES parent,
                  CHECK (one < 3));
                INSERT INTO pair VALUES (1, 1), (2, 2)
                """, "depends on the numbers of parent", "synctool policy DB parent --identity key"
            ),
        ])
    func refusedRows(sql: String, reason: String, hint: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        try Self.makeStore(at: path, sql)
        for isGeneral in [false, true] {
            let replica = try StoreReplica(path, wall: { 5 }, isGeneral: isGeneral)
            defer { try? replica.close() }
            #expect {
                _ = try SyncdTables.stated(by: replica)
            } throws: { error in
                guard let error = error as? SyncError else { return false }
                return error.code == .refused && error.reason.contains(reason)
                    && error.hint?.contains(hint) ?? false
            }
        }
    }

    @Test("a row is stated that spells its reference as its CHECK demands")
    func demandedSpelling() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let sql = """
            CREATE TABLE tag(k TEXT PRIMARY KEY COLLATE NOCASE);
            CREATE TABLE tagged(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag
              CHECK (tag = lower(tag)));
            INSERT INTO tag VALUES ('Home'); INSERT INTO tagged VALUES (1, 'home')
            """
        try Self.makeStore(at: path, sql)
        #expect(try Self.obstacles(at: path, sql).isEmpty)
    }

    @Test("rows that are older than history travel in parts, of which each can be shown alone")
    func olderRowsInParts() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        try Self.makeStore(
            at: path,
            """
            CREATE TABLE a_leaf(id INTEGER PRIMARY KEY, branch TEXT NOT NULL REFERENCES branch);
            CREATE TABLE branch(name TEXT PRIMARY KEY, root INTEGER REFERENCES root);
            CREATE TABLE root(id INTEGER PRIMARY KEY, next INTEGER REFERENCES root);
            INSERT INTO root VALUES (1, 4), (2, 3), (3, NULL), (4, 2);
            INSERT INTO branch VALUES ('x', 1), ('y', 4), ('z', NULL);
            INSERT INTO a_leaf VALUES (1, 'x'), (2, 'z'), (3, 'y'), (4, 'x'), (5, 'x')
            """)
        let sender = try StoreReplica(path, wall: { 5 }, isVerifying: true, olderRowsMax: 2)
        defer { try? sender.close() }
        let all = try #require(try sender.batches(since: VersionVector()).first)
        let batch = try BatchDecoder.decode(all)
        // A row of root may refer to any other: they travel together.
        #expect(batch.transactions.map(\.changes.count) == [4, 2, 2, 2, 2, 2, 2, 1])
        for (former, header) in zip(batch.transactions, batch.transactions.dropFirst()) {
            #expect(header.header.seen.covers(former.header.dot))
        }
        var births: [ObjectUID: Int64] = [:]
        for case .life(let uid, _, let life) in batch.facts { births[uid] = life.dot.number }
        for case .cell(_, _, _, let version) in batch.facts {
            for case .reference(let target, _) in version.value {
                #expect(try #require(births[target]) <= version.dot.number)
            }
        }
    }

    @Test("rows with large values travel in smaller parts")
    func olderRowsOfManyBytes() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        try Self.makeStore(
            at: path,
            """
            CREATE TABLE picture(id INTEGER PRIMARY KEY, bytes BLOB);
            INSERT INTO picture WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c
              LIMIT 5) SELECT n, zeroblob(\(OlderTransactions.bytesMax / 2)) FROM c
            """)
        let sender = try StoreReplica(path, wall: { 5 })
        defer { try? sender.close() }
        let batches = try sender.batches(since: VersionVector()).map(BatchDecoder.decode)
        let counts = batches.flatMap { batch in
            batch.transactions.map { transaction in
                transaction.changes.count { batch.entities[$0.entity].name == "picture" }
            }
        }
        #expect(counts.max() == 2)
        #expect(counts.reduce(0, +) == 5)
    }

    private static func makeStore(at path: String, _ sql: String) throws {
        let writer = try PlainConnection(path, wal: true)
        try writer.run(
            """
            CREATE TABLE parent(id INTEGER PRIMARY KEY);
            CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent, note TEXT);
            INSERT INTO parent VALUES (1), (2);
            INSERT INTO child VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, NULL);
            """ + sql)
        writer.close()
        try Store.track(path)
    }

    /// Compares both ways, and returns what was in the way of one of them.
    private static func obstacles(at path: String, _ title: String) throws -> [String: Int] {
        // Both are open before the first of them states: so both see the same WAL.
        let general = try StoreReplica(path, wall: { 5 }, isGeneral: true)
        let quick = try StoreReplica(path, wall: { 5 })
        let expected = try SyncdTables.stated(by: general)
        let found = try SyncdTables.stated(by: quick)
        for table in Set(expected.keys).union(found.keys).sorted() {
            #expect(found[table] == expected[table], "\(title): \(table)")
        }
        #expect(expected["syncd_header"]?.isEmpty == false, "\(title): nothing was stated")
        #expect(general.tally.plainObjects == 0)
        let tally = quick.tally
        try general.close()
        try quick.close()
        return tally.obstacles
    }
}
