import Foundation
import SyncTesting
import Synchronization
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

@Suite struct StoreTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE Artist(Id INTEGER PRIMARY KEY, Name TEXT)",
            """
            CREATE TABLE Album(Id INTEGER PRIMARY KEY, Title TEXT,
              Artist INTEGER REFERENCES Artist ON DELETE CASCADE)
            """,
            "INSERT INTO Artist VALUES (1, 'AC/DC'), (2, 'Accept')",
            "INSERT INTO Album VALUES (10, 'Back in Black', 1), (20, 'Balls to the Wall', 2)")
    }

    @Test(arguments: [true, false]) func foreignCommitsAreSeenOnceAndInOrder(digests: Bool) throws {
        let store = try database.store()
        #expect(try store.poll().transactions.isEmpty)
        try database.sql("UPDATE Album SET Title = 'x' WHERE Id = 10")
        try database.sql(
            "BEGIN; INSERT INTO Artist VALUES (3, 'B'); DELETE FROM Album WHERE Id = 20; COMMIT")
        if digests { _ = try store.digest() }
        let look = try store.poll()
        #expect(
            look.transactions.map(\.summary) == [
                "update Album/10 Title", "insert Artist/3, delete Album/20",
            ])
        #expect(try store.poll().transactions.isEmpty)
        #expect(try store.history() == look.transactions)
        _ = try store.digest()
        #expect(try store.history() == look.transactions)
    }

    /// The WAL is searched for rows of the log; a row of a table with few columns begins like one.
    @Test func commitsOfOtherTablesEndNoTransaction() throws {
        try database.sql("CREATE TABLE Number(n INTEGER PRIMARY KEY)")
        try Store.track(database.path, entities: .except(["Number"]))
        let store = try Store.open(database.path)
        for number in 1...9 { try database.sql("INSERT INTO Number VALUES (\(number))") }
        try database.sql("BEGIN; UPDATE Album SET Title = 'x'; DELETE FROM Artist; COMMIT")
        #expect(try store.poll().transactions.map(\.changes.count) == [4])
    }

    /// Pages of a backlog begin where the page before ended, for several readers at once, and while
    /// a part of it is digested. They say what one query says.
    @Test(arguments: TestSeed.each(of: 1...3)) func pagesOfABacklogAreTheWhole(seed: TestSeed)
        throws
    {
        var generator = seed.random
        let store = try database.store()
        for number in 0..<120 {
            let key = Int.random(in: 1...6, using: &generator)
            try database.sql(
                [
                    "INSERT OR IGNORE INTO Artist VALUES (\(key), 'new')",
                    "UPDATE Artist SET Name = '\(number)' WHERE Id = \(key)",
                    "DELETE FROM Artist WHERE Id = \(key)",
                    "BEGIN; DELETE FROM Artist WHERE Id = \(key); "
                        + "INSERT INTO Artist VALUES (\(key), 'again'); COMMIT",
                ][number % 4])
            _ = try store.poll()
        }
        let whole = try store.history()
        var pages: [[Transaction]] = [[], [], []]
        while pages.contains(where: { $0.count < whole.count }) {
            let reader = Int.random(in: 0..<pages.count, using: &generator)
            var query = HistoryQuery()
            query.after = pages[reader].last?.token
            query.limit = Int.random(in: 1...9, using: &generator)
            pages[reader] += try store.history(query)
            // A connection that nobody uses is closed, and knows nothing when it is back.
            if generator.once(in: 5) { try store.reading.close() }
            if generator.once(in: 30) { _ = try store.digest(budget: .zero) }
        }
        for page in pages { #expect(page == whole) }
    }

    /// SQLite keeps the pages that a statement changes, to be able to take it back; that many of them
    /// that they go to a file are no full disk.
    @Test func aLargeStatementInATransactionGoesThrough() throws {
        let rows = 60_000
        try database.sql(
            """
            CREATE UNIQUE INDEX Once ON Artist(Name);
            WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO Artist SELECT i, hex(randomblob(20)) FROM n
            """)
        let store = try database.store()
        let queue = try DatabaseOpener.open(database.path)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN; UPDATE Artist SET Name = Name || 'x'; COMMIT")
        }
        try queue.close()
        while try store.digest() {}
        #expect(try store.count().changes == rows)
        // Has no effect in this process, whose first connection was not ours.
        #expect(DatabaseOpener.statementJournalBytes < 1 << 17)
    }

    @Test func tombstonesAndCascadesTellWhatWasLost() throws {
        let store = try database.store()
        try database.sql("DELETE FROM Artist WHERE Id = 1")
        let transaction = try #require(try store.poll().transactions.first)
        #expect(transaction.summary == "delete Artist/1, delete Album/10")
        #expect(transaction.changes[1].cause == .cascade(of: transaction.changes[0].object))
        #expect(transaction.changes[1].tombstone?["Title"] == "Back in Black")
        #expect(transaction.changes[1].tombstone?["Id"] == 10)
        _ = try store.digest()
        #expect(try store.history() == [transaction])
    }

    @Test func markersNameTheWriter() throws {
        let store = try database.store()
        try database.sql(
            """
            BEGIN;
            INSERT INTO syncd_txn(author, context, pid, process)
              VALUES ('importer', 'nightly', 12, 'python3');
            UPDATE Album SET Title = 'x'; INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
            """)
        let transaction = try #require(try store.history().first)
        #expect(transaction.author == "importer")
        #expect(transaction.context == "nightly")
        #expect(transaction.process == Transaction.Process(pid: 12, name: "python3"))
    }

    @Test func incarnationsTellOneLifeOfAKeyFromTheNext() throws {
        let store = try database.store()
        try database.sql("DELETE FROM Album WHERE Id = 10")
        try database.sql("INSERT INTO Album VALUES (10, 'new', 2)")
        try database.sql("UPDATE Album SET Title = 'newer' WHERE Id = 10")
        try database.sql(
            "DELETE FROM Album WHERE Id = 10; INSERT INTO Album VALUES (10, 'third', 2)")
        for digests in [false, true] {
            if digests { _ = try store.digest() }
            let history = try store.history()
            let lives = history.flatMap(\.changes).map(\.object.incarnation)
            let second = history[1].number
            #expect(lives == [0, second, second, second, history[4].number])
        }
    }

    @Test func queriesChooseTransactionsAndChanges() throws {
        let store = try database.store()
        try database.sql("UPDATE Album SET Title = 'a' WHERE Id = 10")
        try database.sql("UPDATE Artist SET Name = 'b'")
        try database.sql(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('me'); DELETE FROM Album WHERE Id = 10;
            UPDATE Album SET Artist = 1 WHERE Id = 20; COMMIT
            """)
        func find(_ change: (inout HistoryQuery) throws -> Void) throws -> [String] {
            var query = HistoryQuery()
            try change(&query)
            return try store.history(query).map(\.summary)
        }
        for digests in [false, true] {
            if digests { _ = try store.digest() }
            #expect(
                try find { $0.entities = ["artist"] } == [
                    "update Artist/1 Name, update Artist/2 Name"
                ])
            #expect(
                try find { $0.object = try .init(path: "Album/10") } == [
                    "update Album/10 Title", "delete Album/10",
                ])
            #expect(try find { $0.kinds = [.delete] } == ["delete Album/10"])
            #expect(
                try find { $0.properties = ["artist"] } == [
                    "delete Album/10, update Album/20 Artist"
                ])
            #expect(try find { $0.authors = ["me"] }.count == 1)
            #expect(try find { $0.excludedAuthors = ["me"] }.count == 2)
            #expect(
                try find {
                    $0.limit = 1; $0.reverse = true
                } == ["delete Album/10, update Album/20 Artist"])
            #expect(try store.count() == .init(transactions: 3, changes: 5))
        }
        #expect(throws: SyncError(.unknownEntity, "")) { try find { $0.entities = ["Nothing"] } }
    }

    @Test func tokensAreStrictlyAfterAndSurviveTheDigest() throws {
        let store = try database.store()
        let start = try store.head()
        for name in ["a", "b", "c"] {
            try database.sql("UPDATE Artist SET Name = '\(name)' WHERE Id = 1")
        }
        var query = HistoryQuery()
        query.after = try store.history()[1].token
        #expect(try store.history(query).map(\.number) == [try store.head().number])
        _ = try store.digest()
        #expect(try store.history(query).count == 1)
        query.after = start
        #expect(try store.history(query).count == 3)
        query.after = try store.head()
        #expect(try store.history(query).isEmpty)
    }

    @Test func tokensOfAnotherHistoryAreRefused() throws {
        let store = try database.store()
        try database.sql("UPDATE Artist SET Name = 'a'")
        let head = try store.head()
        let later = Token(
            store: store.id, epoch: store.epoch, number: head.number + 1, time: .now())
        let other = Token(store: .random(), epoch: store.epoch, number: 1, time: .now())
        let epoch = Token(store: store.id, epoch: store.epoch + 1, number: 1, time: .now())
        let time = Token(
            store: store.id, epoch: store.epoch, number: head.number,
            time: Timestamp(milliseconds: 1))
        for token in [later, other, epoch, time] {
            #expect(throws: SyncError(.foreignHistory, "")) { try store.check(token) }
        }
        _ = try store.digest()
        #expect(throws: SyncError(.foreignHistory, "")) { try store.check(time) }
        try store.check(head)
    }

    @Test func purgeWaitsForConsumersAndExpiresTokens() throws {
        let store = try database.store()
        for name in ["a", "b", "c", "d"] { try database.sql("UPDATE Artist SET Name = '\(name)'") }
        let history = try store.history()
        try store.register(consumer: "gui")
        #expect(throws: SyncError(.stillNeeded, "")) { try store.purge(before: history[2].token) }
        try store.acknowledge(consumer: "gui", history[2].token)
        try store.acknowledge(consumer: "gui", history[0].token)
        #expect(try store.consumers().first?.acknowledged == history[2].number)
        let report = try store.purge(before: history[2].token)
        #expect(report.transactions == 2)
        #expect(try store.history() == Array(history[2...]))
        #expect(throws: SyncError(.historyExpired, "")) { try store.check(history[1].token) }
        try store.check(history[2].token)
        #expect(throws: SyncError(.stillNeeded, "")) { try store.purge(before: history[3].token) }
        let forced = try store.purge(before: history[3].token, force: true)
        #expect(forced.passed.map(\.name) == ["gui"])
        try store.remove(consumer: "gui")
        try store.purge()
        #expect(try store.history().map(\.number) == [history[3].number])
        try store.check(history[3].token)
    }

    @Test func numbersAreNeverUsedTwice() throws {
        let store = try database.store()
        var seen: Set<Int64> = []
        for round in 0..<6 {
            try database.sql("UPDATE Artist SET Name = 'n\(round)'")
            #expect(seen.insert(try store.head().number).inserted)
            _ = try store.digest()
            try store.purge()
            try database.sql("BEGIN; UPDATE Artist SET Name = 'gone'; ROLLBACK")
        }
    }

    /// A nightly purge of a new store has nothing to do, and nobody is in its way.
    @Test func aPurgeOfNothingNeedsNobody() throws {
        let store = try database.store()
        try store.register(consumer: "reader")
        for name in ["a", "b"] { try database.sql("UPDATE Artist SET Name = '\(name)'") }
        let history = try store.history()
        // The first transaction stays, and it is the first that the reader needs.
        let report = try store.purge(before: history[0].token)
        #expect(report.transactions == 0 && report.passed.isEmpty)
        #expect(throws: SyncError(.stillNeeded, "")) { try store.purge(before: history[1].token) }
        try store.acknowledge(consumer: "reader", history[1].token)
        #expect(try store.purge(before: history[1].token).transactions == 1)
    }

    @Test func lapsedLeasesLetThePurgePass() throws {
        let store = try database.store()
        try store.register(consumer: "absent", lease: .milliseconds(1))
        for name in ["a", "b"] { try database.sql("UPDATE Artist SET Name = '\(name)'") }
        Thread.sleep(forTimeInterval: 0.02)
        let report = try store.purge(before: try store.head())
        #expect(report.passed.map(\.name) == ["absent"])
        #expect(report.transactions == 1)
    }

    @Test func aCopiedFileIsAnotherReplicaOfTheSameStore() throws {
        let store = try database.store()
        try database.sql("UPDATE Artist SET Name = 'a'")
        let token = try store.head()
        let copy = database.folder.file("copy.db")
        try database.sql("VACUUM INTO '\(copy)'")
        let other = try Store.open(copy)
        #expect(other.id == store.id)
        #expect(other.replica != store.replica)
        #expect(throws: SyncError(.foreignHistory, "")) { try other.check(token) }
        #expect(try Store.open(copy).replica == other.replica)
        #expect(try Store.open(database.path).replica == store.replica)
    }

    @Test func aLargeCommitIsLeftToTheHistoryTables() throws {
        let store = try database.store()
        _ = try store.poll()
        try database.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
            INSERT INTO Artist SELECT i, 'n' || i FROM n
            """)
        let look = try store.poll()
        #expect(look.tooLarge)
        #expect(look.transactions.isEmpty)
        try database.sql("UPDATE Artist SET Name = 'x' WHERE Id = 1")
        #expect(try store.poll().transactions.map(\.summary) == ["update Artist/1 Name"])
        #expect(try store.digest() == false)
        let history = try store.history()
        #expect(history.map(\.changes.count) == [14_901, 1])
        #expect(try database.rows("SELECT count(*) FROM syncd_log") == [[1]])
    }

    @Test func whatAnEarlierProcessToldStaysWhatItWas() throws {
        let store = try database.store()
        let folder = database.folder.path
        try store.record(in: BoundaryJournal(directory: folder, of: store))
        try database.sql("INSERT INTO Artist VALUES (5, 'x')")
        try database.sql(
            "BEGIN; INSERT INTO Artist VALUES (6, 'y'); DELETE FROM Artist WHERE Id = 6; COMMIT")
        try database.sql("INSERT INTO Artist VALUES (6, 'z')")
        let look = try store.poll()
        #expect(look.transactions.map(\.summary) == ["insert Artist/5", "insert Artist/6"])
        #expect(BoundaryJournal(directory: folder, of: store).boundaries.count == 3)
        try store.close()
        // The WAL that shows where commits end is gone.
        try database.reopen()
        let after = try Store.open(database.path)
        try after.record(in: BoundaryJournal(directory: folder, of: after))
        #expect(try after.history() == look.transactions)
        _ = try after.digest()
        #expect(try after.history() == look.transactions)
    }

    @Test func keysThatOnlyLookAlikeAreTwoObjects() throws {
        try database.sql("CREATE TABLE Word(W TEXT PRIMARY KEY, N INTEGER)")
        let store = try database.store()
        try database.sql(
            "BEGIN; INSERT INTO Word VALUES (char(233), 1), ('e' || char(769), 2); COMMIT")
        #expect(try store.poll().transactions.first?.changes.count == 2)
        _ = try store.digest()
        #expect(try store.history().first?.changes.count == 2)
    }

    @Test func untrackLeavesNothing() throws {
        let before = try database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
        let store = try database.store()
        try database.sql("UPDATE Artist SET Name = 'a'")
        _ = try store.digest()
        try store.register(consumer: "gui")
        try store.close()
        try Store.untrack(database.path)
        #expect(
            try database.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name") == before)
        #expect(throws: SyncError(.notTracked, "")) { try Store.open(database.path) }
    }

    @Test func filesThatAreNoStoreAreNamed() throws {
        let folder = database.folder
        #expect(throws: SyncError(.noSuchFile, "")) { try Store.open(folder.file("nothing.db")) }
        let text = folder.file("text.db")
        try Data(String(repeating: "not a database ", count: 100).utf8).write(
            to: URL(fileURLWithPath: text))
        #expect(throws: SyncError(.notADatabase, "")) { try Store.open(text) }
        #expect(throws: SyncError(.notADatabase, "")) { try Store.open(folder.path) }
        #expect(throws: SyncError(.notTracked, "")) { try Store.open(database.path) }
        _ = try database.store()
        try database.sql("UPDATE syncd_meta SET value = 99 WHERE key = 'format'")
        #expect(throws: SyncError(.newerFormat, "")) { try Store.open(database.path) }
    }
}
