import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A table that one replica has before the others: what is written there waits where it is missing.
@Suite("Merging: new tables")
struct NewTableTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT);
        INSERT INTO item VALUES ('x', 'a0');
        """

    private func replicas(_ names: String...) throws -> [TestStore] {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        return try [a] + names.map { try clone($0, snapshot) }
    }

    private func clone(_ name: String, _ batches: [[UInt8]]) throws -> TestStore {
        try TestStore(
            folder.file(name), try StoreReplica.clone(at: folder.file(name), from: batches))
    }

    private static func notes(_ name: String) -> String {
        "CREATE TABLE \(name)(id INTEGER PRIMARY KEY, item TEXT REFERENCES item(id), text TEXT)"
    }

    /// What history says of the transaction that wrote a table first, as `kind object`.
    private func told(_ store: TestStore, author: String) throws -> [String] {
        let local = try Store.open(store.path)
        defer { try? local.close() }
        var told: [String] = []
        try local.forEachTransaction(matching: HistoryQuery()) { transaction in
            guard transaction.author == author else { return true }
            told += transaction.changes.map { "\($0.kind) \($0.object.path)" }
            return true
        }
        return told.sorted()
    }

    @Test("two tables of one name whose keys identify otherwise wait for each other")
    func otherKeys() throws {
        let stores = try replicas("b.db", "c.db")
        let (a, b, c) = (stores[0], stores[1], stores[2])
        let tables = [
            (a, "id INTEGER PRIMARY KEY, text TEXT", "(1, 'a1'), (2, 'a2')"),
            (b, "id TEXT PRIMARY KEY, text TEXT", "('1', 'b1'), ('x', 'bx')"),
        ]
        for (store, columns, rows) in tables {
            try store.run("CREATE TABLE note(\(columns))")
            try Store.track(store.path)
            try store.run("INSERT INTO note VALUES \(rows)")
        }
        try a.run("UPDATE item SET a = 'of a'")
        try TestStore.sync(a, b, c)
        try b.run(
            "INSERT INTO item VALUES ('y', 'of b'); UPDATE note SET text = 'b' WHERE id = '1'")
        try TestStore.sync(a, b, c)
        for store in stores {
            #expect(
                try store.rows("SELECT * FROM item ORDER BY 1") == [["x", "of a"], ["y", "of b"]])
        }
        #expect(try a.rows("SELECT text FROM note ORDER BY 1") == [["a1"], ["a2"]])
        #expect(try b.rows("SELECT text FROM note ORDER BY 1") == [["b"], ["bx"]])
        #expect(try a.replica.waiting.map(\.reason) == [.otherKey(["id"])])
        #expect(try b.replica.waiting.map(\.reason) == [.otherKey(["id"])])
        #expect(try c.replica.waiting.map(\.reason) == [.noTable])
        // What was forwarded by a replica that has neither is as it was written.
        let d = try clone("d.db", c.replica.batches(since: VersionVector()))
        #expect(try d.replica.waiting.map(\.reason) == [.noTable])
        let late: [(TestStore, String, [[Value]])] = [
            (c, tables[1].1, [["b"], ["bx"]]), (d, tables[0].1, [["a1"], ["a2"]]),
        ]
        for (store, columns, texts) in late {
            try store.run("CREATE TABLE note(\(columns))")
            try Store.track(store.path)
            try TestStore.sync(a, b, c, d)
            #expect(try store.rows("SELECT text FROM note ORDER BY 1") == texts)
            #expect(try store.replica.waiting.map(\.reason) == [.otherKey(["id"])])
        }
        try a.run("DELETE FROM note WHERE text = 'a1'")
        try b.run("INSERT INTO note VALUES ('z', 'bz')")
        try TestStore.sync(a, b, c, d)
        #expect(try c.rows("SELECT text FROM note ORDER BY 1") == [["b"], ["bx"], ["bz"]])
        #expect(try d.rows("SELECT text FROM note ORDER BY 1") == [["a2"]])
    }

    /// Names behind, before and between those that all replicas have.
    @Test("its rows wait, are forwarded, and are shown once it is there", arguments: ["note", "a"])
    func rowsWait(name: String) throws {
        let stores = try replicas("b.db", "c.db")
        let (a, b, c) = (stores[0], stores[1], stores[2])
        try a.run(Self.notes(name))
        try Store.track(a.path)
        try a.run(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('ann');
            INSERT INTO \(name) VALUES (9, 'x', 'early'), (5, NULL, 'second');
            UPDATE item SET a = 'same transaction'; COMMIT
            """)
        try a.run("UPDATE \(name) SET text = 'later' WHERE id = 5")
        try b.pull(from: a)
        #expect(try b.rows("SELECT a FROM item") == [["same transaction"]])
        #expect(try told(b, author: "ann") == ["update item/x"])
        let waiting = try b.replica.waiting
        #expect(waiting == [WaitingChanges(entity: name, count: 3, reason: .noTable)])

        // A third replica that has the table hears of it from one that has not.
        try c.run(Self.notes(name))
        try Store.track(c.path)
        try c.pull(from: b)
        #expect(try c.rows("SELECT * FROM \(name)") == a.rows("SELECT * FROM \(name)"))
        #expect(
            try told(c, author: "ann") == [
                "insert \(name)/5", "insert \(name)/9", "update item/x",
            ])
        #expect(try c.replica.waiting.isEmpty)

        try b.run(Self.notes(name))
        #expect(try b.replica.waiting.map(\.reason) == [.notTracked])
        try Store.track(b.path)
        try StoreReplica.showWaiting(at: b.path)
        #expect(try b.rows("SELECT * FROM \(name)") == a.rows("SELECT * FROM \(name)"))
        #expect(try b.replica.waiting.isEmpty)
        #expect(try told(b, author: "ann") == ["update item/x"])

        // And from one that got the table later.
        let d = try clone("d.db", try b.replica.batches(since: VersionVector()))
        #expect(try told(d, author: "ann") == ["insert \(name)/5", "insert \(name)/9"])
        try b.run("INSERT INTO \(name)(text) VALUES ('from b')")
        try TestStore.sync(a, b, c, d)
        for store in stores { #expect(try store.dump() == d.dump()) }
    }

    @Test("a clone of a replica that lacks the table works, and its rows wait there, too")
    func clonesInBetween() throws {
        let stores = try replicas("b.db")
        let (a, b) = (stores[0], stores[1])
        let old = try a.replica.batches(since: VersionVector())
        try a.run(Self.notes("note") + "; CREATE TABLE zone(id INTEGER PRIMARY KEY)")
        try Store.track(a.path)
        try a.run("INSERT INTO note VALUES (1, 'x', 'early'); INSERT INTO zone VALUES (3)")
        try b.pull(from: a)
        let late = try a.replica.batches(since: b.replica.position().vector)
        #expect(late.isEmpty)
        let c = try clone("c.db", try b.replica.batches(since: VersionVector()))
        let d = try clone("d.db", old)
        try d.pull(from: a)
        for store in [c, d] {
            #expect(try store.rows("SELECT * FROM item") == [["x", "a0"]])
            #expect(
                try store.replica.waiting == [
                    WaitingChanges(entity: "note", count: 1, reason: .noTable),
                    WaitingChanges(entity: "zone", count: 1, reason: .noTable),
                ])
            _ = try Store.alter(store.path, running: Self.notes("note"))
            try Store.track(store.path)
            try StoreReplica.showWaiting(at: store.path)
            #expect(try store.rows("SELECT * FROM note") == [[1, "x", "early"]])
            #expect(try store.replica.waiting.map(\.entity) == ["zone"])
        }
    }

    @Test("the table may have its columns in another order, and more of them")
    func otherColumns() throws {
        let stores = try replicas("b.db", "c.db")
        let (a, b, c) = (stores[0], stores[1], stores[2])
        try a.run("CREATE TABLE note(id INTEGER PRIMARY KEY, one TEXT, two TEXT)")
        try Store.track(a.path)
        try a.run("INSERT INTO note VALUES (1, '1', '2')")
        try b.pull(from: a)
        try a.run(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('ann');
            UPDATE note SET two = 'changed'; COMMIT
            """)
        try b.pull(from: a)
        let other = """
            CREATE TABLE note(two TEXT, more TEXT DEFAULT 'more', one TEXT, id INTEGER PRIMARY KEY)
            """
        try b.run(other)
        try Store.track(b.path)
        try StoreReplica.showWaiting(at: b.path)
        #expect(try b.rows("SELECT id, one, two, more FROM note") == [[1, "1", "changed", "more"]])
        try c.pull(from: a)
        try c.run("CREATE TABLE note(id INTEGER PRIMARY KEY, one TEXT, two TEXT)")
        try Store.track(c.path)
        #expect(try c.replica.waiting.isEmpty)
        try TestStore.sync(a, b, c)
        // Who has the row hears from another one which column an update was about.
        let d = try clone("d.db", try b.replica.batches(since: VersionVector()))
        let changes = try b.replica.batches(since: VersionVector()).flatMap { bytes in
            let batch = try BatchDecoder.decode(bytes)
            return batch.transactions.flatMap { transaction in
                transaction.author != "ann"
                    ? []
                    : transaction.changes.map { change in
                        change.cells.map { batch.entities[change.entity].cells[$0] }
                    }
            }
        }
        #expect(changes == [[["two"]]])
        #expect(
            try d.rows("SELECT id, one, two, more FROM note")
                == b.rows("SELECT id, one, two, more FROM note"))
    }

    @Test("what was written here under the same key before the rows came is told in the log")
    func sameKeyMeanwhile() throws {
        let stores = try replicas("b.db")
        let (a, b) = (stores[0], stores[1])
        let table = "CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value TEXT)"
        try a.run(table)
        try Store.track(a.path)
        try a.run("INSERT INTO setting VALUES ('colour', 'red'), ('size', 'small')")
        try a.run("UPDATE setting SET value = 'blue' WHERE name = 'colour'")
        try b.pull(from: a)
        try b.run(table)
        try Store.track(b.path)
        try b.run("INSERT INTO setting VALUES ('colour', 'default')")
        try TestStore.sync(a, b)
        for store in stores {
            #expect(
                try store.rows("SELECT * FROM setting ORDER BY name") == [
                    ["colour", "default"], ["size", "small"],
                ])
        }
        let log = try b.replica.conflicts(open: nil)
        #expect(log.map(\.path) == ["setting/colour"])
        #expect(log.first?.losing.values.pairs.map(\.value) == ["blue"])
    }

    @Test("columns that are missing are told, too")
    func missingColumn() throws {
        let stores = try replicas("b.db", "c.db", "d.db")
        let (a, b, c, d) = (stores[0], stores[1], stores[2], stores[3])
        for store in [a, c, d] {
            _ = try Store.alter(store.path, running: "ALTER TABLE item ADD COLUMN extra TEXT")
        }
        try a.run(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('ann');
            UPDATE item SET extra = 'e'; COMMIT
            """)
        try b.pull(from: a)
        #expect(
            try b.replica.waiting == [
                WaitingChanges(entity: "item", count: 1, reason: .noColumns(["extra"]))
            ])
        try c.pull(from: b)
        #expect(try c.rows("SELECT * FROM item") == [["x", "a0", "e"]])
        _ = try Store.alter(b.path, running: "ALTER TABLE item ADD COLUMN extra TEXT")
        try d.pull(from: b)
        #expect(
            try d.rows("SELECT * FROM item") == [["x", "a0", "e"]], "also from one that waited")
        #expect(try told(c, author: "ann") == ["update item/x"])
    }

    @Test("batches that lie about objects and entities end nobody's process")
    func lies() throws {
        let stores = try replicas("b.db")
        let (a, b) = (stores[0], stores[1])
        try a.run(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, item TEXT REFERENCES item(id), text TEXT);
            CREATE TABLE tag(k TEXT PRIMARY KEY NOT NULL REFERENCES item(id))
            """)
        try b.run(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, item TEXT REFERENCES item(id), text TEXT);
            CREATE TABLE tag(k TEXT PRIMARY KEY NOT NULL REFERENCES item(id))
            """)
        for store in stores { try Store.track(store.path) }
        try a.run("INSERT INTO note VALUES (1, 'x', 't'); INSERT INTO tag VALUES ('x')")
        let honest = try a.replica.batches(since: b.replica.position().vector)
        let batch = try BatchDecoder.decode(honest[0])
        let uids = Set(batch.facts.compactMap(\.object)).sorted()
        for seed in TestSeed.each(of: 0..<40) {
            var random = seed.random
            var lie = batch
            lie.facts = lie.facts.map { Self.twisted($0, uids, batch.entities, &random) }
            let dot = batch.transactions[0].header.dot
            if uids.count > 1 { lie.facts.append(.alias(uids[0], uids[1], dot)) }
            let path = folder.file("lie-\(seed.value).db")
            let victim = try StoreReplica.clone(
                at: path, from: try b.replica.batches(since: VersionVector()))
            do { _ = try victim.merge(try BatchEncoder.encode(lie)) } catch {
                #expect(error is SyncError, "\(seed): \(error)")
            }
            try victim.close()
        }
    }

    private static func twisted(
        _ fact: Fact, _ uids: [ObjectUID], _ entities: [Batch.Entity],
        _ random: inout SeededRandom
    ) -> Fact {
        guard case .cell(let uid, let entity, let cell, let version) = fact else { return fact }
        let value = version.value.map { field -> Field in
            random.chance(0.4) ? .reference(random.pick(uids), part: random.below(4)) : field
        }
        let twisted = Version(version.dot, incarnation: version.incarnation, value: value)
        let target = random.chance(0.3) ? random.pick(uids) : uid
        return .cell(target, entity: entity, cell: cell, twisted)
    }

    @Test func aRowThatWasDeletedBesideAValueThatWaitedIsLogged() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'a')")
        try a.run("ALTER TABLE t ADD COLUMN c; UPDATE t SET c = 'a long letter'")
        try TestStore.sync(a, b)
        try b.run("DELETE FROM t")
        try b.run("ALTER TABLE t ADD COLUMN c")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT * FROM t").isEmpty)
        let closed = try b.replica.conflicts(open: false)
        #expect(closed.map { $0.losing.values.pairs.map(\.value) } == [["a long letter"]])
    }
}
