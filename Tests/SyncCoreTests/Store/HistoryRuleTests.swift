import Testing

@testable import SyncCore

/// Rules of history that hold over the changes of schema, clock and purpose that a file goes through
/// in its life. docs/history-parity.md says which is which.
@Suite("Rules of history") struct HistoryRuleTests {
    private static let item = "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT)"

    @Test(
        arguments: [
            "DROP TABLE syncd_log", "DROP TABLE \"SYNCD_log\"", "DROP TABLE 'syncd_log'",
            "DELETE FROM syncd_meta", "ALTER TABLE syncd_change RENAME TO mine",
        ])
    func alterLeavesTheTablesOfTheStoreAlone(sql: String) throws {
        let database = try TestDatabase(wal: true, Self.item)
        try database.store().close()
        try database.sql("INSERT INTO item VALUES (1, 'a')")
        #expect(throws: SyncError.self) { try Store.alter(database.path, running: sql) }
        let store = try Store.open(database.path)
        defer { try? store.close() }
        #expect(try store.count().transactions == 1)
    }

    /// A value that was not kept is absent, which is not the same as NULL.
    @Test func aColumnThatCameLaterIsAbsentFromEarlierTombstones() throws {
        let database = try TestDatabase(wal: true, Self.item)
        try database.store().close()
        try database.sql("INSERT INTO item VALUES (1, 'a'), (2, 'b')")
        try database.sql("DELETE FROM item WHERE id = 1")
        try Store.alter(database.path, running: "ALTER TABLE item ADD COLUMN later")
        try database.sql("DELETE FROM item WHERE id = 2")
        let store = try Store.open(database.path)
        let deletes = try store.history().flatMap(\.changes).filter { $0.kind == .delete }
        try #require(deletes.count == 2)
        #expect(deletes[0].tombstone?["a"] == "a")
        #expect(deletes[0].tombstone?["later"] == nil)
        #expect(deletes[1].tombstone?["later"] == .some(.null))
    }

    @Test func aDroppedTableKeepsItsNameAndTombstonesInHistory() throws {
        let database = try TestDatabase(
            wal: true, Self.item, "CREATE TABLE other(id INTEGER PRIMARY KEY)")
        let store = try database.store()
        try database.sql("INSERT INTO item VALUES (1, 'a')")
        try database.sql("DELETE FROM item")
        let before = try store.history()
        _ = try store.digest()
        try store.close()
        try Store.alter(database.path, running: "DROP TABLE item")
        let again = try Store.open(database.path)
        #expect(try again.history().prefix(2) == before[...])
        try again.check(try #require(before.last).token)
    }

    /// Order is that of numbers; dates are those of the wall clock, whatever it was set to.
    @Test func aClockThatWasSetBackChangesNoOrder() throws {
        let database = try TestDatabase(wal: true, Self.item)
        let store = try database.store()
        try database.sql("INSERT INTO item VALUES (1, 'a')")
        // What the trigger would have written a day earlier.
        try database.sql(
            "INSERT INTO syncd_log(op, ts, pk) VALUES (9, julianday('now', '-1 day'), 2)")
        try database.sql("INSERT INTO item VALUES (3, 'a')")
        for _ in 0..<2 {
            let history = try store.history()
            #expect(history.map(\.number) == [1, 2, 3])
            #expect(history[1].timestamp < history[0].timestamp)
            var query = HistoryQuery()
            query.after = history[0].token
            #expect(try store.history(query).map(\.number) == [2, 3])
            query.after = nil
            query.since = history[0].timestamp
            #expect(try store.history(query).map(\.number) == [1, 3])
            _ = try store.digest()
        }
    }

    /// SQL's `NULL != 'me'` is not true: an unsigned transaction must not vanish with it.
    @Test func leavingAnAuthorOutKeepsWhatNobodySigned() throws {
        let database = try TestDatabase(wal: true, Self.item)
        let store = try database.store()
        try database.sql("INSERT INTO item VALUES (1, 'a')")
        try database.sql(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('me');
            INSERT INTO item VALUES (2, 'a'); COMMIT
            """)
        _ = try store.poll()
        var query = HistoryQuery()
        query.excludedAuthors = ["me"]
        #expect(try store.history(query).map(\.author) == [nil])
        // Naming nobody is no filter.
        query.excludedAuthors = []
        query.authors = []
        #expect(try store.history(query).count == 2)
    }

    /// What was rolled back, or changed nothing, is no transaction.
    @Test func nothingHappenedIsNoTransaction() throws {
        let database = try TestDatabase(wal: true, Self.item)
        let store = try database.store()
        try database.sql("INSERT INTO item VALUES (1, 'a')")
        try database.sql("BEGIN; DELETE FROM item; ROLLBACK")
        try database.sql("UPDATE item SET a = a")
        try database.sql("INSERT OR IGNORE INTO item VALUES (1, 'b')")
        try database.sql(
            "BEGIN; INSERT INTO item VALUES (2, 'b'); DELETE FROM item WHERE id = 2; COMMIT")
        #expect(try store.poll().transactions.map(\.summary) == ["insert item/1"])
    }

    /// A consumer that found nothing of interest acknowledges all the same, and holds nothing back.
    @Test func whoReadsWithoutInterestHoldsNothingBack() throws {
        let database = try TestDatabase(wal: true, Self.item)
        let store = try database.store()
        try store.register(consumer: "reader")
        try store.register(consumer: "importer", kind: .writer)
        for id in 1...5 { try database.sql("INSERT INTO item VALUES (\(id), 'a')") }
        _ = try store.poll()
        #expect(try store.purge().transactions == 0)
        try store.acknowledge(consumer: "reader", try store.head())
        #expect(try store.purge().transactions == 4)
        #expect(try store.consumers().first { $0.name == "importer" }?.acknowledged == 0)
    }
}
