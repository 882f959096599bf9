import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// `identity: shared`: the numbers of rows are equal on all replicas.
@Suite("Merging: shared numbers in files")
struct SharedNumberTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT) STRICT;
        CREATE TABLE track(album INTEGER NOT NULL REFERENCES album(id) ON DELETE CASCADE
          ON UPDATE CASCADE, position INTEGER, title TEXT, PRIMARY KEY(album, position));
        CREATE TABLE doc(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT);
        INSERT INTO album VALUES (1, 'old');
        INSERT INTO track VALUES (1, 1, 'first');
        """

    private func stores(_ count: Int = 2) throws -> [TestStore] {
        let first = try TestStore(folder.file("0.db"), schema: Self.schema)
        try first.replica.setPolicies(
            MergePolicies(
                entities: ["album": .init(identity: .shared), "doc": .init(identity: .shared)]))
        return try [first] + (1..<count).map { try first.copy(at: folder.file("\($0).db")) }
    }

    /// Everything to everyone, until the new numbers are everywhere, too.
    private func sync(_ stores: [TestStore]) throws {
        for _ in 0..<3 {
            for from in stores {
                for to in stores where to.path != from.path { try to.pull(from: from) }
            }
        }
        for store in stores { #expect(try store.dump() == stores[0].dump()) }
    }

    /// Writes at each store; the first one earlier than the second.
    private func write(_ stores: [TestStore], _ statements: String...) throws {
        for (store, sql) in zip(stores, statements) {
            try store.run(sql)
            _ = try store.replica.vector
            Thread.sleep(forTimeInterval: 0.003)
        }
    }

    @Test("numbers that SQLite chose are equal afterwards, and references follow, also in keys")
    func chosenNumbers() throws {
        let stores = try stores()
        try write(
            stores,
            """
            INSERT INTO album(title) VALUES ('a');
            INSERT INTO track SELECT max(id), 1, 'a1' FROM album
            """,
            """
            INSERT INTO album(title) VALUES ('b');
            INSERT INTO track SELECT max(id), 1, 'b1' FROM album
            """)
        try sync(stores)
        let rows = "SELECT id, a.title, t.title FROM album a JOIN track t ON album = id ORDER BY 1"
        for store in stores {
            #expect(
                try store.rows(rows) == [[1, "old", "first"], [2, "a", "a1"], [3, "b", "b1"]])
        }
    }

    @Test("history says which rows were renumbered, and where each is now")
    func history() throws {
        let stores = try stores()
        try write(
            stores, "INSERT INTO album VALUES (348, 'a')", "INSERT INTO album VALUES (348, 'b')")
        try stores[1].pull(from: stores[0])
        let store = try Store.open(stores[1].path)
        defer { try? store.close() }
        let last = try store.history().suffix(2)
        let renumbered = try #require(last.first)
        #expect(renumbered.flags == .renumbered && renumbered.origin == nil)
        #expect(renumbered.changes.map(\.kind) == [.delete, .insert])
        #expect(renumbered.changes.map(\.object.path) == ["album/348", "album/349"])
        guard case .renumbered(let new)? = renumbered.changes.first?.cause,
            case .renumbered(let old)? = renumbered.changes.last?.cause
        else {
            Issue.record("no causes: \(renumbered.changes)")
            return
        }
        #expect([new.path, old.path] == ["album/349", "album/348"])
        // What took the number is a new object under the old name.
        #expect(last.last?.changes.map(\.kind) == [.insert])
        #expect(last.last?.changes.map(\.object.path) == ["album/348"])
        #expect(
            try stores[1].rows("SELECT id, title FROM album WHERE id > 1")
                == [[348, "a"], [349, "b"]])
        try sync(stores)
        let other = try Store.open(stores[0].path)
        defer { try? other.close() }
        let arrived = try other.history().filter { $0.flags.contains(.renumbered) }
        #expect(arrived.map(\.flags) == [[.renumbered, .remote]])
    }

    @Test("a third replica shows the row under a negative number until its author was here")
    func thirdReplica() throws {
        let stores = try stores(3)
        let (a, b, c) = (stores[0], stores[1], stores[2])
        try write([a, b], "INSERT INTO album VALUES (5, 'a')", "INSERT INTO album VALUES (5, 'b')")
        try c.pull(from: b)
        try c.pull(from: a)
        let shown = try c.rows("SELECT id FROM album WHERE title = 'b'")
        guard case .integer(let number)? = shown.first?.first else {
            Issue.record("the row is not shown")
            return
        }
        #expect(number < 0)
        let store = try Store.open(c.path)
        defer { try? store.close() }
        let causes = try store.history().flatMap(\.changes).compactMap { change -> String? in
            guard case .renumbered(let other) = change.cause else { return nil }
            return "\(change.kind) \(change.object.path) \(other.path)"
        }
        #expect(
            Set(causes) == [
                "delete album/5 album/\(number)", "insert album/\(number) album/5",
            ])
        // A write to the negative number reaches the row.
        try c.run("UPDATE album SET title = 'b at c' WHERE id = \(number)")
        try sync(stores)
        #expect(
            try c.rows("SELECT id, title FROM album ORDER BY 1")
                == [[1, "old"], [5, "a"], [6, "b at c"]])
    }

    @Test("AUTOINCREMENT gives no number again that a row had elsewhere, and goes on from there")
    func autoincrement() throws {
        let stores = try stores()
        let (a, b) = (stores[0], stores[1])
        try write(
            stores, "INSERT INTO doc(v) VALUES ('1'), ('2')", "INSERT INTO doc(v) VALUES ('b')")
        try sync(stores)
        #expect(
            try a.rows("SELECT id, v FROM doc ORDER BY 1") == [[1, "1"], [2, "2"], [3, "b"]])
        try b.run("DELETE FROM doc WHERE id = 3")
        try sync(stores)
        for store in stores {
            #expect(try store.rows("SELECT seq FROM sqlite_sequence WHERE name = 'doc'") == [[3]])
        }
        try a.run("INSERT INTO doc(v) VALUES ('new')")
        #expect(try a.rows("SELECT id FROM doc WHERE v = 'new'") == [[4]])
    }

    @Test("a program that remembers a number reaches the row that has it now")
    func rememberedNumber() throws {
        let stores = try stores()
        try write(
            stores, "INSERT INTO album VALUES (348, 'a')", "INSERT INTO album VALUES (348, 'b')")
        try sync(stores)
        try stores[1].run("UPDATE album SET title = 'meant for b' WHERE id = 348")
        try sync(stores)
        #expect(
            try stores[0].rows("SELECT id, title FROM album WHERE id > 1")
                == [[348, "meant for b"], [349, "b"]])
    }

    @Test("keys that are written by hand, deleted and inserted again stay equal")
    func writtenByHand() throws {
        let stores = try stores()
        try write(
            stores,
            "UPDATE album SET id = 7 WHERE id = 1; INSERT INTO album VALUES (1, 'again')",
            "REPLACE INTO album VALUES (1, 'replaced'); INSERT INTO album VALUES (7, 'seven')")
        try sync(stores)
        let titles = try stores[0].rows("SELECT title FROM album ORDER BY id")
        #expect(titles.count == 3 || titles.count == 4, "\(titles)")
        try stores[0].run("UPDATE album SET id = -4 WHERE title = 'seven'")
        try sync(stores)
        #expect(try stores[1].rows("SELECT id FROM album WHERE title = 'seven'") == [[-4]])
    }

    @Test("where the greatest number is taken, a row gets the least one that nobody has after it")
    func endOfRange() throws {
        let stores = try stores()
        try stores[0].run("INSERT INTO album VALUES (\(Int64.max), 'last')")
        try sync(stores)
        try write(
            stores, "INSERT INTO album VALUES (2, 'a'), (3, 'with a')",
            "INSERT INTO album VALUES (2, 'b')")
        try sync(stores)
        for store in stores {
            #expect(
                try store.rows("SELECT id, title FROM album WHERE id BETWEEN 2 AND 9 ORDER BY 1")
                    == [[2, "a"], [3, "with a"], [4, "b"]])
        }
    }

    @Test("where one number is left at the end, the other rows get the least ones")
    func lastNumber() throws {
        let stores = try stores()
        try stores[0].run("INSERT INTO album VALUES (\(Int64.max - 1), 'last')")
        try sync(stores)
        try write(
            stores, "INSERT INTO album VALUES (2, 'a2'), (3, 'a3'), (4, 'a4')",
            "INSERT INTO album VALUES (2, 'b2'), (3, 'b3'), (4, 'b4')")
        try sync(stores)
        for store in stores {
            #expect(
                try store.rows("SELECT id FROM album WHERE title GLOB 'b*' ORDER BY id")
                    == [[5], [6], [.integer(.max)]])
            #expect(
                try store.rows("SELECT id FROM album WHERE title GLOB 'a*' ORDER BY id")
                    == [[2], [3], [4]])
        }
    }

    @Test("the copy of a file and its original agree on the numbers of rows that both had")
    func copiedFile() throws {
        let stores = try stores()
        let (a, b) = (stores[0], stores[1])
        try write([a, b], "INSERT INTO album VALUES (5, 'a')", "INSERT INTO album VALUES (5, 'b')")
        try b.run("PRAGMA wal_checkpoint(TRUNCATE)")
        let path = folder.file("copy.db")
        try FileManager.default.copyItem(atPath: b.path, toPath: path)
        let copy = try TestStore(path, StoreReplica(path))
        _ = try copy.replica.vector
        try copy.pull(from: a)
        #expect(try copy.rows("SELECT id FROM album WHERE title = 'b'") == [[6]])
        try sync([a, b, copy])
        #expect(try a.rows("SELECT id FROM album WHERE title = 'b'") == [[6]])
    }

    @Test("identity is chosen before the first exchange, for a table that has a number")
    func choosing() throws {
        let late = try stores()[0]
        #expect {
            try late.replica.setPolicies(
                MergePolicies(entities: [
                    "album": .init(identity: .number), "doc": .init(identity: .shared),
                ]))
        } throws: { ($0 as? SyncError)?.code == .refused }
        let schema = """
            CREATE TABLE tag(name TEXT PRIMARY KEY);
            CREATE TABLE seat(id INTEGER PRIMARY KEY CHECK(id > 0), row TEXT);
            CREATE TABLE pair(id INTEGER PRIMARY KEY, other INTEGER REFERENCES pair(id),
              CHECK(other <> id));
            """
        let store = try TestStore(folder.file("choice.db"), schema: schema)
        for (table, code) in [("tag", SyncError.Code.invalidArgument), ("seat", .refused)] {
            #expect {
                try store.replica.setPolicies(
                    MergePolicies(entities: [table: .init(identity: .shared)]))
            } throws: { ($0 as? SyncError)?.code == code }
        }
        try store.replica.setPolicies(MergePolicies(entities: ["pair": .init(identity: .shared)]))
    }

    @Test("a program that does not know shared numbers refuses their batches and their store")
    func features() throws {
        let a = try stores()[0]
        let bytes = try a.replica.batches(since: VersionVector())[0]
        #expect(bytes[5] & 128 == 128, "an unknown flag is refused by each reader")
        let used = try a.rows("SELECT value & 4 FROM syncd_meta WHERE key = 'writes'")
        #expect(used == [[4]], "shared numbers")
        // Far above the features that are known.
        let unknown = Int64(1) << 40
        try a.run("UPDATE syncd_meta SET value = value | \(unknown) WHERE key = 'writes'")
        let replica = try StoreReplica(a.path)
        defer { try? replica.close() }
        #expect { _ = try replica.vector } throws: { error in
            guard let error = error as? SyncError else { return false }
            return error.code == .newerFormat && error.reason.contains("\(unknown)")
        }
    }
}
