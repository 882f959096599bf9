import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// The way back for a reader whose token has expired.
@Suite(.timeLimit(.minutes(15))) struct ObjectWalkTests {
    /// While others write between the pages, pages and then history lead to the present state.
    @Test(arguments: TestSeed.each(of: 1...6), [true, false])
    func pagesThenHistoryGiveThePresentState(seed: TestSeed, withRowID: Bool) throws {
        var random = seed.random
        let database = try TestDatabase(
            "CREATE TABLE item(k TEXT PRIMARY KEY, v INTEGER)\(withRowID ? "" : " WITHOUT ROWID")")
        let store = try database.store()
        for number in 0..<60 { try database.sql("INSERT INTO item VALUES ('k\(number)', 0)") }
        _ = try store.purge(before: try store.head(), force: true)
        var copy: [Value: Value] = [:]
        var page = try store.objects(of: "ITEM", limit: 7)
        while true {
            for entry in page.entries { copy[entry.object.key.values[0]] = entry.values["v"] }
            for _ in 0..<random.below(4) {
                let key = "'k\(random.below(70))'"
                try database.sql(
                    random.pick([
                        "INSERT OR REPLACE INTO item VALUES (\(key), \(random.below(100)))",
                        "DELETE FROM item WHERE k = \(key)",
                        "UPDATE item SET v = \(random.below(100)) WHERE k = \(key)",
                    ]))
            }
            guard let next = page.next else { break }
            page = try store.objects(of: "item", after: next, limit: 7)
        }
        var query = HistoryQuery()
        query.after = page.token
        for change in try store.history(query).flatMap(\.changes) {
            let key = change.object.key.values[0]
            // As a reader does: the value of the row as it is now.
            copy[key] = try database.rows("SELECT v FROM item WHERE k = \(key)").first?[0]
        }
        let rows = try database.rows("SELECT k, v FROM item")
        #expect(copy == Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) }))
    }

    @Test func objectsAreThoseOfHistory() throws {
        let database = try TestDatabase("CREATE TABLE pair(a, b, c, PRIMARY KEY(a, b))")
        let store = try database.store()
        try database.sql("INSERT INTO pair VALUES (1, 'x', 2), (1, 'y', NULL)")
        let page = try store.objects(of: "pair")
        let inserted = try store.history().flatMap(\.changes).map(\.object)
        #expect(Set(page.entries.map(\.object)) == Set(inserted))
        let head = try store.head()
        #expect(page.next == nil && page.token == head)
        #expect(throws: SyncError.self) { try store.objects(of: "nothing") }
    }
}
