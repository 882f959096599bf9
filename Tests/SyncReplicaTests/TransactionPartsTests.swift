import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// What travels in parts because nobody told where its commits ended, or because it is too large.
@Suite("Transactions in parts")
struct TransactionPartsTests {
    /// The transactions that a store has after a position, once the WAL does not tell commits.
    private func parts(of store: TestStore, after start: VersionVector) throws
        -> [Batch.Transaction]
    {
        try store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return try store.replica.batches(since: start).map(BatchDecoder.decode)
            .flatMap(\.transactions)
    }

    @Test("what a delete cascades to is in no later part than the delete")
    func childrenComeFirst() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE box(id INTEGER PRIMARY KEY, shelf INT REFERENCES shelf ON DELETE CASCADE);
                CREATE TABLE item(id INTEGER PRIMARY KEY, box INT REFERENCES box ON DELETE CASCADE,
                  shelf INT REFERENCES shelf ON DELETE SET NULL);
                CREATE INDEX boxes ON box(shelf); CREATE INDEX items ON item(box);
                CREATE INDEX shelved ON item(shelf);
                INSERT INTO shelf VALUES (1, 'a'), (2, 'b');
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
                INSERT INTO box SELECT i, 1 + i % 2 FROM n;
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
                INSERT INTO item SELECT i, 1 + i % 30, iif(i % 7 = 0, 1, NULL) FROM n;
                """)
        let start = try b.replica.vector
        try a.run("DELETE FROM shelf WHERE id = 1; DELETE FROM shelf WHERE id = 2")
        let parts = try parts(of: a, after: start)
        #expect(parts.count > 2)
        let deletes = parts.flatMap { $0.changes.filter { $0.kind == .delete } }
        #expect(deletes.count == 2 + 30 + 1500)
        // Merged part by part, nothing is left without its parent.
        for batch in try a.replica.batches(since: start) {
            #expect(try b.replica.merge(batch))
        }
        #expect(try a.dump() == b.dump())
        #expect(try b.rows("SELECT count(*) FROM syncd_conflict") == [[0]])
        let shelves = Dictionary(grouping: deletes.indices) { deletes[$0].entity }.values
        let ends = try #require(shelves.first { $0.count == 2 })
        // The two commits may be one for these parts.
        #expect(ends[0] >= 765 && ends[1] == 1531)
    }

    @Test("what a trigger writes meanwhile does not part a delete from what it cascades to")
    func auditedDeletes() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE item(id INTEGER PRIMARY KEY, list INT REFERENCES list ON DELETE CASCADE);
                CREATE TABLE audit(id INTEGER PRIMARY KEY, item INT);
                CREATE TRIGGER gone AFTER DELETE ON item BEGIN
                  INSERT INTO audit(item) VALUES (old.id); END;
                CREATE INDEX items ON item(list);
                INSERT INTO list VALUES (1, 'a');
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 700)
                INSERT INTO item SELECT i, 1 FROM n;
                """)
        let start = try b.replica.vector
        try a.run("DELETE FROM list")
        let deletes = try parts(of: a, after: start)
            .flatMap { $0.changes.filter { $0.kind == .delete } }
        #expect(deletes.count == 701)
        // The list is the last one.
        #expect(deletes.map(\.entity).dropLast().allSatisfy { $0 != deletes[700].entity })
        for batch in try a.replica.batches(since: start) { #expect(try b.replica.merge(batch)) }
        #expect(try a.dump() == b.dump())
    }

    @Test("of rows that refer to older ones of their table the newest are deleted first")
    func nestedDeletes() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE state(id INTEGER PRIMARY KEY, former INTEGER REFERENCES state);
                CREATE INDEX formers ON state(former);
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1700)
                INSERT INTO state SELECT i, iif(i > 9, i - 9, NULL) FROM n;
                """)
        let start = try b.replica.vector
        _ = try a.replica.vector
        var numbers: [ObjectUID: Int64] = [:]
        for row in try a.rows("SELECT uid, number FROM syncd_object") {
            guard case .blob(let bytes) = row[0], case .integer(let number) = row[1],
                let uid = ObjectUID(bytes: bytes)
            else { continue }
            numbers[uid] = number
        }
        try a.run(
            """
            PRAGMA foreign_keys = ON; BEGIN; UPDATE state SET former = NULL WHERE former < 1600;
            DELETE FROM state WHERE id < 1600; COMMIT
            """)
        let parts = try parts(of: a, after: start).map { part in
            part.changes.filter { $0.kind == .delete }.compactMap { numbers[$0.object] }
        }.filter { !$0.isEmpty }
        #expect(parts.count >= 3)
        #expect(parts.reduce(0) { $0 + $1.count } == 1599)
        for (former, next) in zip(parts, parts.dropFirst()) {
            #expect(try #require(former.min()) > #require(next.max()))
        }
        for batch in try a.replica.batches(since: start) { #expect(try b.replica.merge(batch)) }
        #expect(try b.rows("SELECT count(*) FROM state WHERE former IS NULL") == [[9]])
        #expect(try b.rows("SELECT count(*) FROM state") == [[101]])
        #expect(try b.rows("SELECT count(*) FROM syncd_conflict") == [[0]])
    }

    @Test("large values are cut by their bytes")
    func largeValues() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE photo(name TEXT PRIMARY KEY NOT NULL, data BLOB, seen INTEGER DEFAULT 0)
                """)
        let start = try b.replica.vector
        for number in 0..<40 {
            try a.run("INSERT INTO photo(name, data) VALUES ('p\(number)', randomblob(1000000))")
        }
        let parts = try parts(of: a, after: start)
        #expect(parts.count >= 10)
        #expect(parts.allSatisfy { $0.changes.count <= 4 })
        try b.pull(from: a)
        #expect(try a.dump() == b.dump())
        // What is large is not written.
        let next = try b.replica.vector
        for number in 0..<40 {
            try a.run("UPDATE photo SET seen = \(number) WHERE name = 'p\(number)'")
        }
        #expect(try self.parts(of: a, after: next).count < 5)
    }

    @Test("one commit beyond the limits is several transactions for others, parents first")
    func largeCommit() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE "order"(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE line(id INTEGER PRIMARY KEY, of INT NOT NULL REFERENCES "order",
                  part INT NOT NULL REFERENCES part, count INT);
                CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
                """)
        var limits = PartitionLimits()
        (limits.factsMax, limits.partChangesMax) = (1_000, 70)
        let start = try b.replica.vector
        // A connection that stays open keeps what the WAL tells of the end of the commit.
        try a.run("PRAGMA foreign_keys = OFF")
        try a.run(
            """
            BEGIN;
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 900)
            INSERT INTO line SELECT i, i % 30, i % 20, i FROM n;
            WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 29)
            INSERT INTO note SELECT i, 'note ' || i FROM n;
            WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 29)
            INSERT INTO "order" SELECT i, 'order ' || i FROM n;
            WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 19)
            INSERT INTO part SELECT i, 'part ' || i FROM n;
            COMMIT
            """)
        let replica = try StoreReplica(
            a.replica.path, wall: { 5 }, isVerifying: true, partition: limits)
        defer { try? replica.close() }
        let batches = try replica.batches(since: start)
        let names = try BatchDecoder.decode(batches[0]).entities.map(\.name)
        let parts = try batches.map(BatchDecoder.decode).flatMap(\.transactions)
        #expect(parts.count == 14)
        #expect(parts.allSatisfy { $0.changes.count <= 70 })
        let inserted = parts.flatMap(\.changes).map { names[$0.entity] }
        #expect(inserted.count == 980)
        #expect(
            inserted.lastIndex { ["order", "part"].contains($0) } ?? 0
                < inserted.firstIndex(of: "line") ?? 0)
        #expect(
            try a.rows(
                "SELECT count(*) FROM syncd_transaction WHERE number > first + 900") == [[1]])
        for batch in batches { #expect(try b.replica.merge(batch)) }
        #expect(try a.dump() == b.dump())
        #expect(try b.rows("SELECT count(*) FROM syncd_conflict") == [[0]])
    }

    @Test("a row that is too large is named; once it is smaller all is sent")
    func largeRow() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: "CREATE TABLE photo(name TEXT PRIMARY KEY NOT NULL, data BLOB)")
        var limits = PartitionLimits()
        limits.rowBytesMax = 3_000_000
        let replica = try StoreReplica(a.replica.path, wall: { 5 }, partition: limits)
        defer { try? replica.close() }
        let start = try b.replica.vector
        try a.run("INSERT INTO photo VALUES ('small', x'00')")
        _ = try replica.vector
        try a.run("INSERT INTO photo VALUES ('large', zeroblob(4000000))")
        _ = try replica.vector
        let error = #expect(throws: SyncError.self) { try replica.batches(since: start) }
        #expect(error?.code == .refused)
        #expect(error?.reason.contains("row 'large' of photo has 4 MB") == true)
        #expect(error?.hint?.contains("UPDATE") == true)
        // Its last values stay when it is deleted.
        try a.run("DELETE FROM photo WHERE name = 'large'")
        let next = #expect(throws: SyncError.self) { try replica.batches(since: start) }
        #expect(next?.reason.hasPrefix("a row of photo that was deleted, or is hidden,") == true)
        try a.run("INSERT INTO photo VALUES ('large', NULL)")
        _ = try replica.vector
        try a.run("UPDATE photo SET data = zeroblob(2000000) WHERE name = 'large'")
        for batch in try replica.batches(since: start) { #expect(try b.replica.merge(batch)) }
        #expect(try a.dump() == b.dump())
    }
}
