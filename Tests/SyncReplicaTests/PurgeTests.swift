import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

/// What a purge would take that no other replica has, and that no record of merging has either.
@Suite("Purging a store that is synchronised")
struct PurgeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Purges by the limits of a daemon, or as a person does.
    @Test("history stays that is not recorded for others", arguments: [false, true])
    func unrecordedHistory(byLimits: Bool) throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT); "
                + "INSERT INTO note VALUES (1, 'first')")
        try TestStore.sync(a, b)
        let store = try Store.open(a.path)
        defer { try? store.close() }
        for text in ["one", "two", "three"] {
            try a.run("INSERT INTO note(text) VALUES ('\(text)')")
            while try store.digest() {}
        }
        func purge() throws -> Int {
            try byLimits
                ? store.purge(beyond: HistoryLimits(bytes: 1)).transactions
                : store.purge().transactions
        }
        #expect(try store.hasUnrecordedChanges())
        let newest = try store.head()
        #expect(throws: SyncError(.stillNeeded, "")) {
            try store.purge(before: newest, force: true)
        }
        _ = try purge()
        let kept = "SELECT count(*) >= 3 FROM syncd_transaction WHERE origin IS NULL"
        #expect(try a.rows(kept) == [[1]])
        try TestStore.sync(a, b)
        #expect(
            try b.rows("SELECT text FROM note ORDER BY text")
                == [["first"], ["one"], ["three"], ["two"]])
        #expect(try !store.hasUnrecordedChanges())
        #expect(try purge() > 0)
        #expect(try a.rows("SELECT count(*) FROM syncd_transaction") == [[1]])
    }

    @Test("what is in the log alone is not recorded for others, either")
    func unrecordedLog() throws {
        let a = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        _ = try a.replica.vector
        let store = try Store.open(a.path)
        defer { try? store.close() }
        while try store.digest() {}
        #expect(try !store.hasUnrecordedChanges())
        try a.run("INSERT INTO note(text) VALUES ('one')")
        #expect(try store.hasUnrecordedChanges())
        try a.replica.recordChanges()
        #expect(try !store.hasUnrecordedChanges())
    }

    @Test("what is recorded may go before it was sent")
    func recordedHistory() throws {
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        try TestStore.sync(a, b)
        let store = try Store.open(a.path)
        defer { try? store.close() }
        for text in ["one", "two"] {
            try a.run("INSERT INTO note(text) VALUES ('\(text)')")
            while try store.digest() {}
        }
        try a.replica.recordChanges()
        #expect(try store.purge().transactions > 0)
        try TestStore.sync(a, b)
        #expect(try b.rows("SELECT text FROM note ORDER BY text") == [["one"], ["two"]])
    }
}
