import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Commits that ran together, because no daemon was there to tell them apart: each write competes
/// with those of other replicas by the time at which it was written.
@Suite("Times of writes")
struct WriteTimeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, title TEXT, body TEXT);
        INSERT INTO note VALUES ('x', 'old', 'old'), ('y', 'old', 'old');
        """

    private func pair() throws -> (TestStore, TestStore) {
        let stores = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(stores.0, stores.1)
        return stores
    }

    /// Runs a statement, and gives it a time: seconds after now. The WAL, which tells where a commit
    /// ended, is gone afterwards.
    private func write(_ store: TestStore, at seconds: Double, _ sql: String) throws {
        guard case .integer(let last)? = try store.rows("SELECT max(seq) FROM syncd_log")[0].first
        else { return }
        try store.run(
            """
            BEGIN; \(sql);
            UPDATE syncd_log SET ts = ts + \(seconds) / 86400.0 WHERE seq > \(last); COMMIT;
            PRAGMA wal_checkpoint(TRUNCATE)
            """)
    }

    private func title(_ stores: TestStore..., of id: String = "x") throws -> Set<Value> {
        Set(
            try stores.map { try $0.rows("SELECT title FROM note WHERE id = '\(id)'")[0][0] })
    }

    @Test("an older edit loses, although another row was edited later")
    func olderEditLoses() throws {
        let (a, b) = try pair()
        try write(a, at: 100, "UPDATE note SET title = 'first' WHERE id = 'x'")
        try write(b, at: 200, "UPDATE note SET title = 'last' WHERE id = 'x'")
        try write(a, at: 300, "UPDATE note SET title = 'other' WHERE id = 'y'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["last"])
        #expect(try title(a, b, of: "y") == ["other"])
        let conflict = try #require(try a.replica.conflicts().first)
        let losing = conflict.losing.time?.milliseconds ?? 0
        let shown = conflict.shown.time?.milliseconds ?? 0
        #expect(abs(shown - losing - 100_000) < 50_000, "the conflict has both times")
        let store = try Store.open(a.path)
        let history = try store.history().filter { $0.flags == .coalesced }
        try store.close()
        #expect(history.count == 1, "history here has them as one, as before")
    }

    @Test("each column of a row has its own time")
    func columnsOfOneRow() throws {
        let (a, b) = try pair()
        try write(a, at: 100, "UPDATE note SET title = 'first' WHERE id = 'x'")
        try write(b, at: 200, "UPDATE note SET title = 'last' WHERE id = 'x'")
        try write(a, at: 300, "UPDATE note SET body = 'other' WHERE id = 'x'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["last"])
        #expect(try a.rows("SELECT body FROM note WHERE id = 'x'") == [["other"]])
    }

    @Test("an insert keeps its time when a column of it is edited later")
    func insertAndUpdate() throws {
        let (a, b) = try pair()
        try write(a, at: 100, "INSERT INTO note VALUES ('z', 'first', 'first')")
        try write(b, at: 200, "INSERT INTO note VALUES ('z', 'last', 'last')")
        try write(a, at: 300, "UPDATE note SET body = 'edited' WHERE id = 'z'")
        try TestStore.sync(a, b)
        #expect(try title(a, b, of: "z") == ["last"])
        #expect(try b.rows("SELECT body FROM note WHERE id = 'z'") == [["edited"]])
    }

    @Test("firstWriter compares the times of the writes")
    func firstWriter() throws {
        let (a, b) = try pair()
        try a.replica.setPolicies(
            MergePolicies(entities: ["note": .init(columns: ["title": .firstWriter])]))
        try TestStore.sync(a, b)
        try write(a, at: 100, "UPDATE note SET title = 'first' WHERE id = 'x'")
        try write(b, at: 200, "UPDATE note SET title = 'last' WHERE id = 'x'")
        try write(a, at: 300, "UPDATE note SET title = 'other' WHERE id = 'y'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["first"])
    }

    @Test("history keeps the times when it is digested long before it is merged")
    func digestedBefore() throws {
        let (a, b) = try pair()
        try write(a, at: 100, "UPDATE note SET title = 'first' WHERE id = 'x'")
        try write(a, at: 300, "UPDATE note SET title = 'other' WHERE id = 'y'")
        let store = try Store.open(a.path)
        while try store.digest() {}
        try store.close()
        #expect(try a.rows("SELECT count(*) FROM syncd_change WHERE length(data) > 2") != [[0]])
        try write(b, at: 200, "UPDATE note SET title = 'last' WHERE id = 'x'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["last"])
    }

    @Test("a clock that went back makes nothing newer than the last write")
    func clockWentBack() throws {
        let (a, b) = try pair()
        try write(a, at: 90_000, "UPDATE note SET title = 'ahead' WHERE id = 'x'")
        try write(a, at: 100, "UPDATE note SET title = 'other' WHERE id = 'y'")
        try write(b, at: 200, "UPDATE note SET title = 'last' WHERE id = 'x'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["last"])
    }

    @Test("a row that was deleted and inserted again in one stretch stays, whatever the clock")
    func deletedAndInserted() throws {
        let (a, b) = try pair()
        try write(a, at: 300, "DELETE FROM note WHERE id = 'x'")
        try write(a, at: 100, "INSERT INTO note VALUES ('x', 'again', 'again')")
        try write(a, at: 400, "UPDATE note SET title = 'other' WHERE id = 'y'")
        try TestStore.sync(a, b)
        #expect(try title(a, b) == ["again"])
    }

    @Test("commits within a second are merged as one transaction")
    func shortPauses() throws {
        let (a, b) = try pair()
        try write(a, at: 1, "UPDATE note SET title = 'one' WHERE id = 'x'")
        try write(a, at: 1.2, "UPDATE note SET title = 'two' WHERE id = 'y'")
        let before = try b.rows("SELECT count(*) FROM syncd_transaction")[0][0]
        try TestStore.sync(a, b)
        guard case .integer(let count) = before else { return }
        #expect(try b.rows("SELECT count(*) FROM syncd_transaction") == [[.integer(count + 1)]])
    }
}
