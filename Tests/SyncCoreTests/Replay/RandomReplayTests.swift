import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Random schemas, random SQL, three kinds of writers. After every commit a copy that is kept up
/// with history alone has to equal the tables, value by value.
///
/// `SYNCD_SEED=n` repeats one seed, `SYNCD_SEEDS=n` runs the first n.
@Suite("Replay of history", .timeLimit(.minutes(30)))
struct RandomReplayTests {
    private static let seedCount: UInt64 = 24
    private static let commitsPerSeed = 40

    @Test func replayedHistoryEqualsTheTablesAfterEveryCommit() throws {
        for seed in TestSeed.first(Self.seedCount) {
            let run = try ReplayRun(seed: seed)
            do {
                try run.play(commits: Self.commitsPerSeed)
            } catch {
                Issue.record("\(seed): \(error)\n\(run.trail.joined(separator: ";\n"))")
                return
            }
        }
    }
}

/// One seed: a store, its three writers, and the copy.
private final class ReplayRun {
    private static let looksAfterLarge = 6

    private(set) var trail: [String] = []
    private let seed: TestSeed
    private var random: SeededRandom
    private let folder: TemporaryFolder
    private let path: String
    private var sql: RandomSQL
    private let reader: PlainConnection
    private var isWAL: Bool
    private var store: Store
    private var writers: [(name: String, writer: any ScriptedWriter)] = []
    private var replay: HistoryReplay
    private var told: [Transaction] = []
    /// What the tables were when the log ended with a row, and who had signed.
    private var commits: [Int64: Commit] = [:]
    private var schemaChanges = 0

    private struct Commit {
        var tables: HistoryReplay.Tables
        var author: String?
        var statements: [String]
        /// Nil: the writer does not say.
        var deletes: CauseOracle.Deletes?
    }

    init(seed: TestSeed) throws {
        self.seed = seed
        random = seed.random
        let schema = RandomSchema(&random)
        sql = RandomSQL(schema, &random)
        folder = try TemporaryFolder()
        path = folder.file("store.db")
        reader = try PlainConnection(path)
        let mode = random.pick(["WAL", "WAL", "WAL", "DELETE", "TRUNCATE", "PERSIST"])
        isWAL = mode == "WAL"
        let preparation =
            ["PRAGMA journal_mode = \(mode)", "PRAGMA synchronous = OFF"]
            + schema.tables.flatMap(\.sql) + schema.triggers + sql.views
        for statement in preparation {
            trail.append(statement)
            try reader.run(statement)
        }
        for _ in 0..<10 {
            trail.append(schema.statement(&random))
            try? reader.run(trail[trail.count - 1])
        }
        let options = schema.tables.map { ($0.name, CaptureOptions(undo: $0.undo)) }
        try Store.track(path, options: Dictionary(uniqueKeysWithValues: options))
        trail.append("-- tracked")
        store = try Self.open(path)
        replay = HistoryReplay(schema.tables, try Self.tables(reader, schema))
        for kind in 0..<3 { writers.append(try makeWriter(kind)) }
    }

    /// Repairs are made here, so that it is known which commits are theirs.
    private static func open(_ path: String) throws -> Store {
        try Store.open(path, isResolved: false, isMending: false)
    }

    private func makeWriter(_ kind: Int) throws -> (String, any ScriptedWriter) {
        var pragmas = ["recursive_triggers", "foreign_keys"].map {
            "PRAGMA \($0) = \(random.below(2))"
        }
        if random.once(in: 4) { pragmas.append("PRAGMA trusted_schema = OFF") }
        if !isWAL, random.once(in: 3) {
            // Of this writer's connection alone.
            let mode = random.pick(["MEMORY", "TRUNCATE", "PERSIST"])
            pragmas.append("PRAGMA journal_mode = \(mode)")
        }
        let isAttached = random.once(in: 4)
        let settings = WriterSettings(
            path: path, host: isAttached ? folder.file("host\(kind).db") : nil, pragmas: pragmas)
        switch kind {
        case 0:
            return (
                "library \(settings.opening)", try LibraryWriter(settings, schema: sql.schema)
            )
        case 1: return ("shell \(settings.opening)", try ShellWriter(settings))
        default: return ("python \(settings.opening)", try PythonWriter(settings))
        }
    }

    func play(commits count: Int) throws {
        var looksDue = 0
        for number in 0..<count {
            // Where commits cannot be told apart afterwards, most are looked at one by one; all
            // where the WAL is so long that the next writer that writes begins it again.
            looksDue = try commit(number) ? Self.looksAfterLarge : max(0, looksDue - 1)
            if random.once(in: isWAL ? 2 : 6), looksDue == 0 { continue }
            try catchUp()
            try disturb()
        }
        try catchUp()
        try checkAgain()
        _ = try store.digest()
        try checkAgain()
        try store.close()
        store = try Self.open(path)
        try checkAgain()
    }

    /// - Returns: whether it wrote a value that fills the WAL.
    private func commit(_ number: Int) throws -> Bool {
        let (name, writer) = random.pick(writers)
        let author = random.once(in: 3) ? "author \(number)" : nil
        let transaction = sql.transaction(author: author, &random)
        trail.append("-- \(number), \(name)")
        trail += transaction
        try writer.run(transaction)
        try noteCommit(
            Commit(
                tables: [:], author: author, statements: transaction,
                deletes: try (writer as? LibraryWriter)?.takeDeletes()))
        return transaction.contains { $0.contains("zeroblob(") }
    }

    /// - Parameter commit: without the tables.
    private func noteCommit(_ commit: Commit) throws {
        try reader.run("BEGIN")
        defer { try? reader.run("COMMIT") }
        let tables = try Self.tables(reader, sql.schema)
        guard case .integer(let last) = try reader.value("SELECT max(seq) FROM syncd_log") else {
            return
        }
        // A commit that changed nothing leaves the log, and the tables, as they were.
        if let known = commits[last] {
            guard known.tables == tables else {
                throw HistoryReplay.Mismatch(description: "changed without a row in the log")
            }
        } else {
            commits[last] = commit
            commits[last]?.tables = tables
        }
    }

    /// Replays what is new and compares.
    private func catchUp() throws {
        try takeNew()
        if let last = commits.max(by: { $0.key < $1.key }) { try replay.check(last.value.tables) }
    }

    private func takeNew() throws {
        let new: [Transaction]
        if random.once(in: 4) {
            var query = HistoryQuery()
            query.after = told.last?.token
            new = try store.history(query)
            _ = try store.poll()
        } else {
            new = try store.poll().transactions
        }
        for transaction in new {
            trail.append("-- \(transaction.number): \(transaction.summary)")
            guard let commit = commits[transaction.number] else {
                throw HistoryReplay.Mismatch(
                    description: "\(transaction.number) is the end of no commit")
            }
            if isWAL, transaction.flags.contains(.coalesced) {
                throw HistoryReplay.Mismatch(description: "\(transaction.number) is coalesced")
            }
            if !transaction.flags.contains(.coalesced), transaction.author != commit.author {
                throw HistoryReplay.Mismatch(
                    description: "\(transaction.number) is by "
                        + "\(transaction.author ?? "nobody"), not \(commit.author ?? "nobody")")
            }
            try replay.apply(transaction, commit.tables)
            let isOne = !transaction.flags.contains(.coalesced)
            try CauseOracle(sql.schema).check(
                transaction, isOne ? commit.deletes : nil, statements: commit.statements)
        }
        told += new
    }

    /// What happens to a store between two commits.
    private func disturb() throws {
        switch random.below(14) {
        case 0, 1: _ = try store.digest()
        case 2:
            trail.append("-- opened again")
            _ = try store.digest()
            try store.close()
            store = try Self.open(path)
        case 3: try? reader.run("PRAGMA wal_checkpoint(TRUNCATE)")
        case 4:
            trail.append("-- VACUUM")
            try? reader.run("VACUUM")
            // The WAL may be so long that the next writer begins it again.
            try catchUp()
        case 5:
            // Another process needs history. It may not see the ends of commits that this one
            // has found and not written yet, and then tells several as one.
            if random.once(in: 3) { replay.isCoarser = true } else { _ = try store.digest() }
            let other = try Store.open(path)
            _ = try other.digest()
            try other.close()
        case 6:
            schemaChanges += 1
            trail.append(sql.schemaChange(schemaChanges, &random))
            try? reader.run(trail[trail.count - 1])
            _ = try store.repairCapture()
        case 7:
            let kind = random.below(3)
            writers[kind] = try makeWriter(kind)
        case 8: try addColumn()
        case 9: try changeMode()
        default: break
        }
    }

    /// Another program adds a column in the middle of a transaction. What was written to it before
    /// the triggers knew it is found by comparing.
    private func addColumn() throws {
        schemaChanges += 1
        let (statements, table, value) = sql.columnAddition(schemaChanges, &random)
        trail += statements
        for statement in statements { try? reader.run(statement) }
        replay.addColumn(to: table, value: value == "NULL" ? .null : 7)
        replay.added = table.columns.last
        // The log has nothing of what was written to the new column.
        commits = [:]
        try noteCommit(Commit(tables: [:], author: nil, statements: statements, deletes: nil))
        try takeNew()
        replay.added = nil
        _ = try store.repairCapture()
        try noteCommit(Commit(tables: [:], author: nil, statements: [], deletes: nil))
        try catchUp()
    }

    /// To WAL beside all who have the file open; from WAL only when nobody has.
    private func changeMode() throws {
        let mode = isWAL ? random.pick(["DELETE", "TRUNCATE", "PERSIST"]) : "WAL"
        trail.append("-- journal mode \(mode)")
        if isWAL {
            writers = []
            _ = try store.digest()
            try store.close()
        }
        try reader.run("PRAGMA journal_mode = \(mode)")
        if isWAL { store = try Self.open(path) }
        isWAL.toggle()
        if writers.isEmpty { for kind in 0..<3 { writers.append(try makeWriter(kind)) } }
    }

    /// History as a whole is what was told piece by piece.
    private func checkAgain() throws {
        let history = try store.history()
        if replay.isCoarser {
            let unknown = Set(history.map(\.number)).subtracting(told.map(\.number))
            guard unknown.isEmpty, history.last?.number == told.last?.number else {
                throw HistoryReplay.Mismatch(description: "nobody was told of \(unknown)")
            }
            return
        }
        for (found, expected) in zip(history, told) where found != expected {
            throw HistoryReplay.Mismatch(description: "told \(expected), then \(found)")
        }
        guard history.count == told.count else {
            throw HistoryReplay.Mismatch(
                description: "\(told.count) transactions were told, history has \(history.count)")
        }
    }

    private static func tables(
        _ reader: PlainConnection, _ schema: RandomSchema
    ) throws -> HistoryReplay.Tables {
        var tables: HistoryReplay.Tables = [:]
        for table in schema.tables {
            let rows = try reader.rows(
                "SELECT \(RandomSchema.list(table.columns)) FROM \(SQLName.quoted(table.name))")
            tables[table.name] = Dictionary(
                uniqueKeysWithValues: rows.map {
                    (ObjectKey(Array($0.prefix(table.key.count))), $0)
                })
        }
        return tables
    }
}
