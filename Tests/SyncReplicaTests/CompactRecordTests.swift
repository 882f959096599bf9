import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// Stores whose records and lists of changes an earlier version wrote, none of them compact.
@Suite("Compact records in stores of earlier versions")
struct CompactRecordTests {
    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born REAL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, code TEXT UNIQUE,
          artist INTEGER REFERENCES artist(id));
        CREATE TABLE tag(word TEXT PRIMARY KEY, note BLOB);
        INSERT INTO artist VALUES (1, 'Ana', 1970.5), (2, 'Bo', NULL), (3, 'Cy', 1);
        INSERT INTO album VALUES (1, 'One', 'a', 1), (2, 'Two', NULL, 2);
        INSERT INTO tag VALUES ('red', X'00'), ('blue', X'');
        """

    /// Writes all records of a store as an earlier version did.
    private func makeEarlier(_ store: TestStore) throws {
        try store.replica.run("test") { session in
            try session.transact { transaction in
                let storage = transaction.storage
                for (position, entity) in storage.schema.merge.entities.enumerated() {
                    let widths = entity.cells.map(\.count)
                    try ObjectStorage.rewriteRecords(
                        transaction.connection, ofShape: storage.shapes.number(of: position)
                    ) { _, bytes in
                        var record = OutgoingRecord()
                        var writer = ByteWriter()
                        try bytes.withUnsafeBytes { bytes in
                            try record.read(bytes, widths: widths)
                            record.write(
                                Array(record.facts.indices), of: bytes, to: &writer)
                        }
                        return writer.bytes
                    }
                }
                let dot = Dot(ReplicaID(high: 0, low: 0), 1)
                let header = TransactionHeader(
                    dot, time: HybridTime(rawValue: 0), seen: VersionVector())
                try HeaderStorage.rewriteDetails(transaction.connection) { details in
                    ListedChangesTests.long(
                        try HeaderDetails.decode(details, of: header) { Int($0) })
                }
            }
        }
        try store.run("UPDATE syncd_meta SET value = value & ~384 WHERE key = 'writes'")
        #expect(try compactCount(store) == 0)
    }

    private func count(_ store: TestStore, _ condition: String) throws -> Int64 {
        let rows = try store.rows("SELECT count(*) FROM syncd_object WHERE \(condition)")
        guard case .integer(let count) = rows[0][0] else { return -1 }
        return count
    }

    private func compactCount(_ store: TestStore) throws -> Int64 {
        try count(
            store,
            "hex(record) LIKE '01%' AND instr('37BF', substr(hex(record), 4, 1)) > 0")
    }

    private func writes(_ store: TestStore) throws -> [[Value]] {
        try store.rows("SELECT value & 384 FROM syncd_meta WHERE key = 'writes'")
    }

    @Test("a record becomes compact when it is written next, and not before")
    func writtenNext() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        #expect(try compactCount(a) == 7)
        #expect(try compactCount(b) == 7)
        #expect(try writes(b) == [[384]])
        let batches = try a.replica.batches(since: VersionVector())
        try makeEarlier(a)
        try makeEarlier(b)
        #expect(try a.replica.batches(since: VersionVector()) == batches)
        #expect(try compactCount(a) == 0)
        #expect(try writes(a) == [[384]], "before the first is written")
        // By the lanes: of what is written here, and of what arrives.
        try a.run("UPDATE artist SET born = 2 WHERE id = 1; INSERT INTO tag VALUES ('new', 1)")
        try b.run("UPDATE album SET title = 'Zwei', artist = 3 WHERE id = 2")
        try TestStore.sync(a, b)
        #expect(try compactCount(a) == 3)
        #expect(try compactCount(b) == 3)
        try a.run("DELETE FROM album WHERE id = 2; UPDATE artist SET name = 'Eva' WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try compactCount(a) == 2)
        #expect(try a.dump() == b.dump())
        for store in [a, b] {
            #expect(try store.replica.mendSums().isEmpty)
        }
        let c = try a.copy(at: folder.file("c.db"))
        #expect(try c.dump() == a.dump())
    }

    @Test(
        "a record that had rival versions is compact again when a write has seen them",
        arguments: [true, false])
    func seenVersions(usesLocalLane: Bool) throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: Self.schema, usesLocalLane: usesLocalLane)
        try makeEarlier(a)
        try makeEarlier(b)
        try a.run(
            """
            UPDATE artist SET name = 'Xaver' WHERE id < 3; DELETE FROM tag WHERE word = 'red';
            UPDATE album SET code = 'b' WHERE id = 2
            """)
        try b.run("UPDATE artist SET name = 'Yvonne', born = 7 WHERE id = 2")
        try TestStore.sync(a, b)
        // Two versions of the name, which the next write has seen.
        #expect(try compactCount(a) == 2)
        // Names of several letters: one letter may be any byte of a place.
        let both = "instr(record, 'Xaver') AND instr(record, 'Yvonne')"
        #expect(try count(b, both) == 1)
        try b.run("UPDATE artist SET name = 'Zoe' WHERE id = 2")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try compactCount(store) == 3)
            #expect(try count(store, both) == 0)
            #expect(try store.replica.mendSums().isEmpty)
        }
        #expect(try a.dump() == b.dump())
    }

    @Test(
        "the setting is written in the transaction of the first record, and again where it is gone")
    func setting() throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        #expect(try writes(a) == [[0]])
        _ = try a.replica.batches(since: VersionVector())
        #expect(try writes(a) == [[384]])
        try a.run("UPDATE syncd_meta SET value = 64 WHERE key = 'writes'")
        try a.run("UPDATE artist SET born = 3")
        _ = try a.replica.batches(since: VersionVector())
        #expect(try writes(a) == [[384]])
    }

    @Test("a feature that another program begins to use is refused at once")
    func newerFormat() throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        _ = try a.replica.vector
        try a.run("UPDATE syncd_meta SET value = value | (1 << 40) WHERE key = 'writes'")
        try a.run("UPDATE artist SET born = 3")
        #expect(throws: SyncError(.newerFormat, "")) {
            _ = try a.replica.batches(since: VersionVector())
        }
    }
}
