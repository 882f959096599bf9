import Testing

@testable import SyncCore

@Suite("Authors in history") struct AuthorTests {
    /// The daemon digests and purges for months on one connection.
    @Test func anAuthorWhoseTransactionsWerePurgedIsKnownWhenItComesBack() throws {
        let database = try TestDatabase(
            wal: true, "CREATE TABLE item(id INTEGER PRIMARY KEY, a)")
        let store = try database.store()
        func commit(_ author: String, _ id: Int) throws -> Token {
            try database.sql(
                """
                BEGIN; INSERT INTO syncd_txn(author) VALUES ('\(author)');
                INSERT INTO item VALUES (\(id), 1); COMMIT
                """)
            _ = try store.poll()
            _ = try store.digest()
            return try store.head()
        }
        _ = try commit("early", 1)
        let late = try commit("late", 2)
        try store.purge(before: late)
        #expect(try database.rows("SELECT author FROM syncd_who") == [["late"]])
        _ = try commit("other", 3)
        _ = try commit("early", 4)
        #expect(try store.history().map(\.author) == ["late", "other", "early"])
    }

    @Test func transactionsOfSeveralAuthorsComeInOrder() throws {
        let database = try TestDatabase(
            wal: true, "CREATE TABLE item(id INTEGER PRIMARY KEY, a)")
        let store = try database.store()
        for number in 1...30 {
            let (author, context) = ("a\(number % 3)", number % 2 == 0 ? "NULL" : "'odd'")
            try database.sql(
                """
                BEGIN; INSERT INTO syncd_txn(author, context) VALUES ('\(author)', \(context));
                INSERT INTO item VALUES (\(number), 1); COMMIT
                """)
            _ = try store.poll()
        }
        _ = try store.digest()
        let all = try store.history()
        for (authors, reverse) in [
            (["a0"], false), (["a1", "a2", "nobody"], true), (["x"], false),
        ] {
            var query = HistoryQuery()
            query.authors = authors
            query.reverse = reverse
            query.after = all[3].token
            let expected = all.dropFirst(4).filter { authors.contains($0.author ?? "") }
            let found = try store.history(query)
            #expect(found == (reverse ? expected.reversed() : Array(expected)))
            query.limit = 2
            #expect(try store.history(query) == Array(found.prefix(2)))
        }
    }
}
