import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// What two replicas stated alike, and what is stated of rows that only stand around.
@Suite("Agreement")
struct AgreementTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let library = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER,
          artist INTEGER NOT NULL REFERENCES artist(id));
        CREATE TABLE song(album INTEGER REFERENCES album(id), place INTEGER, title TEXT,
          PRIMARY KEY(album, place));
        CREATE TABLE tag(name TEXT PRIMARY KEY, note TEXT);
        INSERT INTO artist VALUES (1, 'Nina'), (2, 'Abbey');
        INSERT INTO album VALUES (10, 'Pastel', 1957, 1), (11, 'Wool', 1973, 2);
        INSERT INTO tag VALUES ('jazz', NULL);
        """

    private func twoReplicas() throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: Self.library)
        let snapshot = try a.replica.batches(since: VersionVector())
        let copy = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        return (a, try TestStore(folder.file("b.db"), copy))
    }

    @Test("a row that an edit only stands on keeps what it refers to, under other numbers")
    func rowAroundAnEditKeepsItsReferences() throws {
        let (a, b) = try twoReplicas()
        try a.run("INSERT INTO artist VALUES (3, 'Ann')")
        try a.run("INSERT INTO album VALUES (12, 'Here', 2001, 3)")
        try b.run("INSERT INTO artist VALUES (3, 'Bea')")
        try TestStore.sync(a, b)
        let artist =
            "SELECT artist.name FROM album JOIN artist ON artist.id = artist WHERE title = 'Here'"
        #expect(try b.rows("SELECT id FROM artist WHERE name = 'Ann'") != [[3]])
        // The song refers to the album, and nobody touches the album or its artist.
        try b.run("INSERT INTO song SELECT id, 1, 'First' FROM album WHERE title = 'Here'")
        try b.run("UPDATE song SET title = 'First of all'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows(artist) == [["Ann"]])
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
            #expect(try store.replica.conflicts(open: nil).isEmpty)
        }
    }

    @Test("what two people wrote alike is no conflict, and is one value for the next writer")
    func equalValuesAreNoConflict() throws {
        let (a, b) = try twoReplicas()
        for store in [a, b] { try store.run("UPDATE album SET title = 'Same' WHERE id = 10") }
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.replica.conflicts(open: nil).isEmpty) }
        try b.run("UPDATE album SET title = 'Newer' WHERE id = 10")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT title FROM album WHERE id = 10") == [["Newer"]])
            #expect(try store.replica.conflicts(open: nil).isEmpty)
        }
    }

    @Test("two of three wrote alike: the value of the third meets them once")
    func equalValuesBesideAnother() throws {
        let (a, b) = try twoReplicas()
        let snapshot = try a.replica.batches(since: VersionVector())
        let c = try TestStore(
            folder.file("c.db"),
            try StoreReplica.create(at: folder.file("c.db"), from: snapshot[0]))
        try c.run("UPDATE album SET title = 'Third' WHERE id = 10")
        for store in [a, b] { try store.run("UPDATE album SET title = 'Same' WHERE id = 10") }
        try TestStore.sync(a, b, c)
        for store in [a, b, c] {
            let conflicts = try store.replica.conflicts()
            #expect(conflicts.map { $0.losing.values["title"] } == ["Third"])
            #expect(try store.rows("SELECT title FROM album WHERE id = 10") == [["Same"]])
        }
    }

    @Test("a file that was copied before its first statement agrees with its copy")
    func copyBeforeTheFirstStatement() throws {
        let first = try TestStore(folder.file("a.db"), schema: Self.library)
        try first.run("INSERT INTO album VALUES (40, 'Common', 2000, 1)")
        try first.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: first.path, toPath: folder.file("b.db"))
        let a = try TestStore(first.path, try StoreReplica(first.path))
        let b = try TestStore(folder.file("b.db"), try StoreReplica(folder.file("b.db")))
        try TestStore.sync(a, b)
        for store in [a, b] { #expect(try store.replica.conflicts(open: nil).isEmpty) }
        #expect(try a.dump() == b.dump())
        let unresolved = "SELECT count(*) FROM syncd_object WHERE state = 2"
        #expect(try a.rows(unresolved) == [[0]], "none of them is in the region of every merge")
    }

    @Test("commits that nobody told apart travel in parts, so that no slice is large")
    func coalescedCommitsTravelInParts() throws {
        let (a, b) = try twoReplicas()
        let start = try b.replica.vector
        for commit in 0..<4 {
            try a.run(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
                INSERT INTO tag(name) SELECT 'tag \(commit) ' || i FROM n
                """)
        }
        try a.run("UPDATE tag SET note = 'x' WHERE name LIKE 'tag 1 1%'")
        // Where each commit ended can be told from the WAL, for as long as it is there.
        try a.run("PRAGMA wal_checkpoint(TRUNCATE)")
        let batches = try a.replica.batches(since: start).map(BatchDecoder.decode)
        let transactions = batches.flatMap(\.transactions)
        let coalesced = transactions.filter {
            Transaction.Flags(rawValue: Int($0.flags)).contains(.coalesced)
        }
        #expect(coalesced.count > 1)
        #expect(coalesced.allSatisfy { $0.changes.count <= PartitionLimits().partChangesMax })
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
        #expect(try b.replica.conflicts().isEmpty)
    }

    @Test("settling ends also what was written to a key that was renamed elsewhere")
    func settlingEndsEditsOfAFormerKey() throws {
        let (a, b) = try twoReplicas()
        try a.run("UPDATE tag SET name = 'swing' WHERE name = 'jazz'")
        try b.run("UPDATE tag SET note = 'blue' WHERE name = 'jazz'")
        try TestStore.sync(a, b)
        #expect(try b.replica.conflicts().map { $0.losing.values["note"] } == ["blue"])
        try b.replica.closeConflicts(author: "ann")
        #expect(try b.replica.conflicts().isEmpty)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM tag") == [["swing", nil]])
            #expect(try store.replica.conflicts().isEmpty)
        }
    }
}
