import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// What is told while the history tables are behind is what they have later: looks that leave a
/// part of the log to history must not forget who was born in it.
///
/// `SYNCD_SEED=n` repeats one seed, `SYNCD_SEEDS=n` runs the first n.
@Suite("A backlog of history", .timeLimit(.minutes(10)))
struct BacklogTests {
    private static let seedCount: UInt64 = 16
    private static let stepsPerSeed = 24

    @Test(arguments: [true, false])
    func liveIsWhatHistoryHas(usesWAL: Bool) throws {
        var toldCount = 0
        for seed in TestSeed.first(Self.seedCount) {
            var run = try BacklogRun(seed: seed, usesWAL: usesWAL)
            do {
                for _ in 0..<Self.stepsPerSeed { try run.step() }
                toldCount += try run.compare()
            } catch {
                Issue.record("\(seed): \(error)\n\(run.trail.joined(separator: "\n"))")
                return
            }
        }
        if TestSeed.given == nil { #expect(toldCount > 10 * Int(Self.seedCount)) }
    }

    /// A daemon that is started beside a backlog tells the deletes of what is in it.
    @Test func whatWasBornInABacklogHasItsIncarnation() throws {
        let database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, n)")
        var store = try database.store()
        let folder = database.folder.path
        try store.record(in: BoundaryJournal(directory: folder, of: store))
        try database.sql("DELETE FROM item")
        try database.sql(BacklogRun.insert(1...12_000))
        _ = try store.poll()
        try store.close()
        store = try Store.open(database.path)
        try store.record(in: BoundaryJournal(directory: folder, of: store))
        #expect(try store.poll().tooLarge)
        try database.sql("DELETE FROM item WHERE id = 7")
        let told = try store.poll().transactions
        #expect(told.map(\.changes.count) == [1])
        #expect(told.first?.changes.first?.object.incarnation == 12_000)
        _ = try store.digest()
        #expect(try store.history().suffix(1) == told.suffix(1))
    }
}

/// One seed: a writer of commits of all sizes, and a store that looks and digests now and then.
private struct BacklogRun {
    private(set) var trail: [String] = []
    private var random: SeededRandom
    private let database: TestDatabase
    private var store: Store
    private var told: [Transaction] = []

    init(seed: TestSeed, usesWAL: Bool) throws {
        random = seed.random
        database = try TestDatabase(
            wal: usesWAL, "CREATE TABLE item(id INTEGER PRIMARY KEY, n)")
        store = try database.store()
        try record()
    }

    static func insert(_ ids: ClosedRange<Int>) -> String {
        """
        WITH RECURSIVE n(i) AS
          (SELECT \(ids.lowerBound) UNION ALL SELECT i + 1 FROM n WHERE i < \(ids.upperBound))
        INSERT OR IGNORE INTO item SELECT i, 0 FROM n
        """
    }

    private func record() throws {
        try store.record(in: BoundaryJournal(directory: database.folder.path, of: store))
    }

    mutating func step() throws {
        for _ in 0..<random.pick([1, 1, 2, 5]) { try commit() }
        if random.once(in: 8) {
            trail.append("-- digest")
            _ = try store.digest(budget: .milliseconds(random.pick([0, 5, 3_600_000])))
        }
        if random.once(in: 12) {
            trail.append("-- open again")
            try store.close()
            store = try Store.open(database.path)
            try record()
        }
        if random.once(in: 3) { return }
        let look = try store.poll()
        trail.append("-- told \(look.transactions.map(\.number)), too large: \(look.tooLarge)")
        told += look.transactions
    }

    private mutating func commit() throws {
        let id = 1 + random.below(400)
        switch random.below(14) {
        case 0:
            let size = random.pick([300, 4_000, 12_000, 12_000, 25_000, 60_000])
            try run(Self.insert(id...id + size))
        case 1: try run("DELETE FROM item WHERE id % \(1 + random.below(9)) = 0")
        case 2: try run("UPDATE item SET n = n + 1 WHERE id < \(random.pick([50, 15_000]))")
        case 3, 4, 5: try run("DELETE FROM item WHERE id BETWEEN \(id) AND \(id + 5)")
        case 6, 7: try run(Self.insert(id...id + 5))
        case 8: try run("REPLACE INTO item VALUES (\(id), 9)")
        default: try run("UPDATE item SET n = n + 1 WHERE id BETWEEN \(id) AND \(id + 3)")
        }
    }

    private mutating func run(_ sql: String) throws {
        trail.append(sql)
        try database.sql(sql)
    }

    /// - Returns: how many transactions were told.
    func compare() throws -> Int {
        _ = try store.poll()
        _ = try store.digest()
        var history: [Int64: Transaction] = [:]
        for transaction in try store.history() { history[transaction.number] = transaction }
        for transaction in told where history[transaction.number] != transaction {
            throw BacklogMismatch(
                description: "told \(transaction.token), and history has another one")
        }
        return told.count
    }
}

private struct BacklogMismatch: Error, CustomStringConvertible {
    let description: String
}
