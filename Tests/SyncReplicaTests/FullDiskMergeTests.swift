import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// SQLite finds no room for another page in the middle of a merge.
@Suite("A merge on a full disk", .timeLimit(.minutes(15)))
struct FullDiskMergeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT,
          owner INTEGER REFERENCES owner(id) ON DELETE CASCADE);
        INSERT INTO owner VALUES (1, 'ann'), (2, 'bob');
        """

    @Test(
        "says so, leaves the state before, and goes on when there is room", arguments: [1, 7, 40])
    func healsWhenThereIsRoom(pagesLeft: Int) throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let path = folder.file("b.db")
        let b = try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
        try write(a)
        let batches = try a.replica.batches(since: b.replica.vector)
        // What b says meanwhile has to be stated in the transaction that fails.
        try b.run("INSERT INTO item(text, owner) VALUES ('ours', 2)")
        let before = try (b.dump(), stored(b))
        try limit(b, pagesLeft: pagesLeft)
        for _ in 0..<3 {
            let error = #expect(throws: SyncError.self) {
                for batch in batches { _ = try b.replica.merge(batch) }
            }
            #expect(error?.code == .diskFull)
            #expect(error?.isTransient == true)
            #expect(error?.hint == "Free some space")
            #expect(try b.rows("PRAGMA integrity_check") == [["ok"]])
            #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
            // Whole batches, each with its vector, or nothing.
            #expect(try stored(b).vector == before.1.vector)
            #expect(try b.dump() == before.0)
        }
        try limit(b, pagesLeft: nil)
        try TestStore.sync(a, b)
        #expect(try a.dump()["owner"] == b.dump()["owner"])
        let texts = "SELECT text FROM item ORDER BY 1"
        #expect(try a.rows(texts) == b.rows(texts))
        #expect(try a.rows("SELECT count(*) FROM item") == [[401]])
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
        #expect(
            try b.rows("SELECT count(origin) - count(DISTINCT origin) FROM syncd_transaction")
                == [[0]])
    }

    private func write(_ a: TestStore) throws {
        for number in 0..<40 {
            try a.run("BEGIN")
            for row in 0..<10 {
                let text = "w\(number)-\(row)" + String(repeating: ".", count: 300)
                try a.run("INSERT INTO item(text, owner) VALUES ('\(text)', 1)")
            }
            try a.run("UPDATE owner SET name = 'ann\(number)' WHERE id = 1")
            try a.run("COMMIT")
        }
    }

    /// What is merged, as the file has it: asking the replica would need room.
    private func stored(_ store: TestStore) throws -> (vector: [[Value]], facts: [[Value]]) {
        (
            try store.rows("SELECT replica, merged FROM syncd_replica ORDER BY id"),
            try store.rows("SELECT uid, place, record FROM syncd_object ORDER BY uid")
        )
    }

    /// Leaves room for this number of pages on the connection that merges.
    private func limit(_ store: TestStore, pagesLeft: Int?) throws {
        guard case .integer(let pages) = try store.rows("PRAGMA page_count")[0][0] else { return }
        let most = pagesLeft.map { pages + Int64($0) } ?? 1_000_000
        try store.replica.run("inspect") { session in
            try RawTransaction.execute(
                "PRAGMA max_page_count = \(most)", on: session.connection)
        }
    }
}
