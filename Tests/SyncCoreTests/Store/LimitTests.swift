import Testing

@testable import SyncCore
@testable import SyncValues

/// History that goes by itself.
@Suite struct HistoryLimitTests {
    private let database: TestDatabase
    private let store: Store

    init() throws {
        database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT)")
        store = try database.store()
        for number in 1...100 { try database.sql("INSERT INTO item VALUES (\(number), 'x')") }
        #expect(try store.digest() == false)
        // One transaction an hour.
        try database.sql("UPDATE syncd_transaction SET time = number * 3600000")
    }

    private func numbers() throws -> ClosedRange<Int64> {
        let history = try store.history().map(\.number)
        return (history.first ?? 0)...(history.last ?? 0)
    }

    private var now: Timestamp { Timestamp(milliseconds: 100 * 3_600_000) }

    @Test func oldTransactionsGo() throws {
        let report = try store.purge(beyond: HistoryLimits(age: .seconds(10 * 3600)), at: now)
        #expect(report.transactions == 89)
        #expect(try numbers() == 90...100)
        #expect(
            try store.purge(beyond: HistoryLimits(age: .seconds(10 * 3600)), at: now).transactions
                == 0)
    }

    @Test func tooManyGo() throws {
        let report = try store.purge(beyond: HistoryLimits(bytes: 26 * 30), at: now)
        #expect(report.transactions > 50 && report.transactions < 90)
        #expect(try numbers().upperBound == 100)
    }

    @Test func whatAConsumerHasNotReadStays() throws {
        try store.register(consumer: "slow", lease: .seconds(60))
        try store.acknowledge(consumer: "slow", try store.history()[39].token)
        try store.flush()
        let limits = HistoryLimits(age: .seconds(3600))
        try store.purge(beyond: limits, at: .now())
        #expect(try numbers() == 40...100)
        // Its lease has run out by then.
        let later = Timestamp(milliseconds: Timestamp.now().milliseconds + 120_000)
        try store.purge(beyond: limits, at: later)
        #expect(try numbers() == 100...100)
    }

    /// A consumer holds history back; that it has read some is no reason to purge it.
    @Test func whatIsWithinTheLimitsStaysThoughItWasRead() throws {
        try store.register(consumer: "quick", lease: .seconds(60))
        try store.acknowledge(consumer: "quick", try #require(try store.history().last?.token))
        try store.flush()
        for limits in [
            HistoryLimits(), HistoryLimits(age: .seconds(1 << 40)), HistoryLimits(bytes: 1 << 40),
        ] {
            #expect(try store.purge(beyond: limits).transactions == 0)
        }
        #expect(try numbers() == 1...100)
    }

    @Test func noLimitsNoPurge() throws {
        #expect(try store.purge(beyond: HistoryLimits(), at: now).transactions == 0)
        #expect(try store.purge(beyond: HistoryLimits(age: .seconds(1 << 40))).transactions == 0)
    }
}
