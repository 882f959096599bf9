import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// What a question about history costs does not grow with history: no query of the library scans a
/// table of history, and the same question takes the same steps in a history of ten times the
/// length.
@Suite("Query plans", .timeLimit(.minutes(15)))
struct QueryPlanTests {
    /// Tables of a few rows: one for an entity, a consumer, a setting, an author.
    private static let smallTables = [
        "syncd_entity", "syncd_consumer", "syncd_meta", "syncd_guard",
    ]
    private static let shortCount: Int64 = 2_000
    private static let longCount: Int64 = 20_000

    private struct Question: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let ask: @Sendable (Store, _ count: Int64) throws -> Int
    }

    private static func query(
        _ store: Store, _ change: (inout HistoryQuery) throws -> Void
    ) throws -> Int {
        var query = HistoryQuery()
        try change(&query)
        return try store.history(query).count
    }

    private static func token(_ store: Store, _ number: Int64) -> Token {
        Token(
            store: store.id, epoch: store.epoch, number: number,
            time: Timestamp(milliseconds: 1_700_000_000_000 + number))
    }

    private static let questions: [Question] = [
        Question(testDescription: "the newest 100") { store, _ in
            try query(store) {
                $0.reverse = true
                $0.limit = 100
            }
        },
        Question(testDescription: "100 after a token") { store, count in
            try query(store) {
                $0.after = token(store, count / 2)
                $0.limit = 100
            }
        },
        Question(testDescription: "between two tokens") { store, count in
            try query(store) {
                $0.after = token(store, count / 2)
                $0.upTo = token(store, count / 2 + 50)
            }
        },
        Question(testDescription: "an object") { store, _ in
            try query(store) { $0.object = try ObjectName(path: "item/7") }
        },
        Question(testDescription: "the last change of an object") { store, _ in
            try query(store) {
                $0.object = try ObjectName(path: "item/7")
                $0.reverse = true
                $0.limit = 1
            }
        },
        Question(testDescription: "the head") { store, _ in try store.head().number > 0 ? 1 : 0 },
        Question(testDescription: "an author who signed once") { store, _ in
            try query(store) { $0.authors = ["early"] }
        },
        Question(testDescription: "the newest of a frequent author") { store, _ in
            try query(store) {
                $0.authors = ["often"]
                $0.reverse = true
                $0.limit = 5
            }
        },
        Question(testDescription: "what came since a moment") { store, count in
            try query(store) {
                $0.since = Timestamp(milliseconds: 1_700_000_000_000 + count - 20)
                $0.reverse = true
                $0.limit = 20
            }
        },
        Question(testDescription: "a look") { store, _ in
            _ = try store.poll()
            return 1
        },
        Question(testDescription: "the objects that are held") { store, _ in
            try query(store) {
                $0.object = try ObjectName(path: "item/1")
                $0.kinds = [.delete]
            } + 1
        },
    ]

    @Test(arguments: questions)
    private func stepsDoNotGrowWithHistory(question: Question) throws {
        let short = try cost(Self.shortCount, question)
        let long = try cost(Self.longCount, question)
        #expect(short.answer > 0)
        #expect(short.answer == long.answer)
        // A tree may have a level more.
        let isSame = long.steps <= short.steps * 3 / 2 + 100
        #expect(isSame, "\(short.steps) steps, in ten times the history \(long.steps)")
    }

    private func cost(
        _ count: Int64, _ question: Question
    ) throws -> (steps: Int, answer: Int) {
        let history = try LongHistory(count: count)
        let trace = StatementTrace(history.database.path)
        let store = try Store.open(history.database.path)
        _ = try store.digest()
        _ = try store.poll()
        _ = trace.take()
        let answer = try question.ask(store, count)
        let entries = trace.take()
        try checkPlans(entries, history.database, question.testDescription)
        try store.close()
        return (entries.values.reduce(0) { $0 + $1.steps }, answer)
    }

    @Test func purgingScansNothingAndCostsWhatItRemoves() throws {
        var steps: [Int] = []
        for count in [Self.shortCount, Self.longCount] {
            let history = try LongHistory(count: count)
            let trace = StatementTrace(history.database.path)
            let store = try Store.open(history.database.path)
            _ = try store.digest()
            _ = trace.take()
            let report = try store.purge(before: Self.token(store, 1_001))
            #expect(report.transactions == 1_000)
            #expect(report.changes == 1_000)
            let entries = trace.take()
            try checkPlans(entries, history.database, "purge")
            steps.append(entries.values.reduce(0) { $0 + $1.steps })
            let authors = try history.database.rows("SELECT author FROM syncd_who")
            #expect(authors == [["often"]])
            try store.close()
        }
        #expect(steps[1] <= steps[0] * 3 / 2, "\(steps)")
    }

    @Test func digestingScansNothing() throws {
        let history = try LongHistory(count: Self.shortCount)
        let trace = StatementTrace(history.database.path)
        let store = try Store.open(history.database.path)
        for number in 1...20 {
            try history.database.sql(
                """
                BEGIN; INSERT INTO syncd_txn(author) VALUES ('often');
                UPDATE item SET b = \(number) WHERE id < 20; DELETE FROM item WHERE id = \(number);
                COMMIT
                """)
            _ = try store.poll()
        }
        _ = try store.digest()
        try checkPlans(trace.take(), history.database, "digest")
        try store.close()
    }

    /// No statement goes through a table of history from one end to the other.
    private func checkPlans(
        _ entries: [String: StatementTrace.Entry], _ database: TestDatabase, _ name: String
    ) throws {
        #expect(!entries.isEmpty)
        let connection = try PlainConnection(database.path)
        defer { connection.close() }
        // Rows in memory are as many as are written.
        let widths = [4, 7]
        for width in widths {
            _ = try RowStatement(width: width, on: connection.handle) { "SELECT c1 FROM \($0)" }
        }
        let small = Self.smallTables + widths.map { "syncd_rows_\($0)" }
        for sql in entries.keys where sql.contains("syncd_") && !sql.hasPrefix("EXPLAIN") {
            for row in try connection.rows("EXPLAIN QUERY PLAN \(sql)") {
                guard case .text(let detail) = row[3], detail.hasPrefix("SCAN") else { continue }
                // From an end, and no further than the first row.
                if sql.hasSuffix("LIMIT 1") || sql.hasSuffix("LIMIT 1))") { continue }
                let table = detail.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                let isSmall = small.contains(table) || !table.hasPrefix("syncd_")
                #expect(isSmall, "\(name): \(detail) in \(sql)")
            }
        }
    }
}
