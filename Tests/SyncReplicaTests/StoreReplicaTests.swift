import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

@Suite("A store as a replica")
struct StoreReplicaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let library = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER,
          artist INTEGER NOT NULL REFERENCES artist(id));
        CREATE TABLE tag(name TEXT PRIMARY KEY, note TEXT);
        CREATE TABLE tagged(tag TEXT REFERENCES tag(name) ON DELETE CASCADE,
          album INTEGER REFERENCES album(id) ON DELETE CASCADE, PRIMARY KEY(tag, album));
        INSERT INTO artist VALUES (1, 'Nina'), (2, 'Abbey');
        INSERT INTO album VALUES (10, 'Pastel', 1957, 1), (11, 'Wool', 1973, 2);
        INSERT INTO tag VALUES ('jazz', NULL);
        INSERT INTO tagged VALUES ('jazz', 10);
        """

    private func twoReplicas() throws -> (TestStore, TestStore) {
        let first = try TestStore(folder.file("a.db"), schema: Self.library)
        let replica = try StoreReplica(first.path)
        let snapshot = try replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        return (
            try TestStore(first.path, replica), try TestStore(folder.file("b.db"), copy)
        )
    }

    @Test("a clone has the same rows under the same numbers")
    func cloneIsEqual() throws {
        let (a, b) = try twoReplicas()
        #expect(try a.dump() == b.dump())
        #expect(a.replica.storeID == b.replica.storeID)
        #expect(a.replica.replicaID != b.replica.replicaID)
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
    }

    @Test("edits of two properties of one object both arrive")
    func propertiesMergeOneByOne() throws {
        let (a, b) = try twoReplicas()
        try a.run("UPDATE album SET title = 'Pastel Blues' WHERE id = 10")
        try b.run("UPDATE album SET year = 1965 WHERE id = 10")
        try TestStore.sync(a, b)
        #expect(
            try a.rows("SELECT title, year FROM album WHERE id = 10") == [["Pastel Blues", 1965]])
        #expect(try a.dump() == b.dump())
        #expect(try a.replica.conflicts().isEmpty)
    }

    @Test("two inserts of one number are two objects; each writer keeps its number")
    func equalNumbersDoNotMeet() throws {
        let (a, b) = try twoReplicas()
        try a.run("INSERT INTO album VALUES (12, 'Here', 2001, 1)")
        try a.run("INSERT INTO tagged VALUES ('jazz', 12)")
        try b.run("INSERT INTO album VALUES (12, 'There', 2002, 2)")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT title FROM album WHERE id = 12") == [["Here"]])
        #expect(try b.rows("SELECT title FROM album WHERE id = 12") == [["There"]])
        for store in [a, b] {
            #expect(try store.rows("SELECT count(*) FROM album") == [[4]])
            let tagged = """
                SELECT album.title FROM tagged JOIN album ON album.id = tagged.album ORDER BY 1
                """
            #expect(try store.rows(tagged) == [["Here"], ["Pastel"]])
        }
    }

    @Test("an edit against a delete is in the log, and can be turned round")
    func editAgainstDelete() throws {
        let (a, b) = try twoReplicas()
        try a.run("DELETE FROM album WHERE id = 11")
        try b.run("UPDATE album SET title = 'Wool and Silk' WHERE id = 11")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT count(*) FROM album WHERE id = 11") == [[0]])
            let conflicts = try store.replica.conflicts()
            #expect(conflicts.map(\.reason) == [.hidden])
            #expect(conflicts.first?.losing.values["title"] == "Wool and Silk")
        }
        let conflict = try #require(try a.replica.conflicts().first)
        try a.replica.resolve(conflict.id, keeping: .losing, author: "ann")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT title FROM album WHERE id = 11") == [["Wool and Silk"]])
            #expect(try store.replica.conflicts().isEmpty)
        }
    }

    @Test("a deleted parent whose child was edited stays, and the delete is in the log")
    func restrictedParentStays() throws {
        let (a, b) = try twoReplicas()
        try a.run("DELETE FROM album WHERE artist = 2")
        try a.run("DELETE FROM artist WHERE id = 2")
        try b.run("INSERT INTO album VALUES (20, 'Straight Ahead', 1961, 2)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT name FROM artist WHERE id = 2") == [["Abbey"]])
            #expect(try store.replica.conflicts().contains { $0.reason == .deleteLost })
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
    }

    @Test("merged transactions are in history once, with author, origin and time")
    func mergedHistory() throws {
        let (a, b) = try twoReplicas()
        try b.run(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('importer');
            INSERT INTO album VALUES (30, 'New', 2024, 1); DELETE FROM tagged;
            INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
            """)
        try TestStore.sync(a, b)
        try TestStore.sync(a, b)
        let store = try Store.open(a.path)
        let history = try store.history()
        let merged = history.filter { $0.flags.contains(.remote) }
        #expect(merged.count == 1)
        #expect(merged.first?.author == "importer")
        #expect(merged.first?.origin?.replica == b.replica.replicaID)
        #expect(
            merged.first?.changes.map(\.kind).sorted { $0.rawValue < $1.rawValue }
                == [.insert, .delete])
        #expect(merged.first?.changes.allSatisfy { $0.cause == .merge } == true)
        try store.close()
    }

    @Test("a batch merged twice, or before what it needs, changes nothing")
    func repeatedAndEarlyBatches() throws {
        let (a, b) = try twoReplicas()
        let start = try a.replica.vector
        try a.run("UPDATE tag SET note = 'one'")
        let first = try a.replica.batches(since: start)
        let middle = try a.replica.vector
        try a.run("UPDATE tag SET note = 'two'")
        let second = try a.replica.batches(since: middle)
        #expect(try !b.replica.merge(second[0]))
        #expect(try b.rows("SELECT note FROM tag") == [[nil]])
        for _ in 0..<2 { #expect(try b.replica.merge(first[0])) }
        for _ in 0..<2 { #expect(try b.replica.merge(second[0])) }
        #expect(try b.replica.merge(first[0]))
        #expect(try b.rows("SELECT note FROM tag") == [["two"]])
    }

    @Test("copies of a tracked file agree on what both had")
    func copiesOfAFile() throws {
        let first = try TestStore(folder.file("a.db"), schema: Self.library)
        try first.run("INSERT INTO album VALUES (40, 'Common', 2000, 1)")
        try first.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: first.path, toPath: folder.file("b.db"))
        let a = try TestStore(first.path, try StoreReplica(first.path))
        let b = try TestStore(folder.file("b.db"), try StoreReplica(folder.file("b.db")))
        #expect(a.replica.replicaID != b.replica.replicaID)
        try a.run("UPDATE album SET title = 'Both' WHERE id = 40")
        try b.run("UPDATE album SET year = 1999 WHERE id = 40")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT title, year FROM album WHERE id = 40") == [["Both", 1999]])
        #expect(try a.dump() == b.dump())
        #expect(try a.rows("SELECT count(*) FROM album") == [[3]])
    }
}
