import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Random commits by a writer that knows nothing of syncd, against a model: the tables before and
/// after each commit. Between them the store is looked at, digested, closed and opened again, at
/// random.
@Suite struct RandomHistoryTests {
    private static let schema = [
        "CREATE TABLE parent(id INTEGER PRIMARY KEY, a TEXT, b, u TEXT UNIQUE)",
        """
        CREATE TABLE child(id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent ON DELETE CASCADE,
          q INTEGER REFERENCES parent ON DELETE SET NULL, note TEXT COLLATE NOCASE)
        """,
        "CREATE TABLE word(w TEXT PRIMARY KEY, n INTEGER, m REAL)",
        "CREATE TABLE pair(x INTEGER, y TEXT, v, PRIMARY KEY(x, y)) WITHOUT ROWID",
    ]
    private static let tables = ["parent": 1, "child": 1, "word": 1, "pair": 2]

    private typealias Rows = [String: [ObjectKey: [Value]]]

    @Test(arguments: TestSeed.each(of: 1...6))
    func historyTellsWhatEachCommitDid(seed: TestSeed) throws {
        try run(seed: seed, commits: 120, wal: true)
    }

    @Test(arguments: TestSeed.each(of: 11...12))
    func historyTellsWhatEachCommitDidInRollbackMode(seed: TestSeed) throws {
        try run(seed: seed, commits: 60, wal: false)
    }

    private func run(seed: TestSeed, commits: Int, wal: Bool) throws {
        var random = seed.random
        let database = try TestDatabase(wal: wal)
        for statement in Self.schema { try database.sql(statement) }
        var store = try database.store()
        var before = try rows(database)
        var diffs: [String: (before: Rows, after: Rows)] = [:]
        var told: [Transaction] = []

        for number in 0..<commits {
            let author = "c\(number)"
            try commit(database, author, &random)
            let after = try rows(database)
            diffs[author] = (before, after)
            before = after
            // In the rollback modes commits are told apart only when each is looked at.
            if !wal || Int.random(in: 0..<3, using: &random) == 0 {
                told += try store.poll().transactions
            }
            if Int.random(in: 0..<8, using: &random) == 0 { _ = try store.digest() }
            if Int.random(in: 0..<25, using: &random) == 0 {
                // As the daemon does: what it has found out about boundaries must not be lost.
                _ = try store.digest()
                try store.close()
                store = try Store.open(database.path)
                var query = HistoryQuery()
                query.after = told.last?.token
                told += try store.history(query)
                _ = try store.poll()
            }
        }
        told += try store.poll().transactions
        for _ in 0..<2 {
            let history = try store.history()
            #expect(history.map(\.number) == told.map(\.number), "\(seed)")
            for (found, expected) in zip(history, told) {
                #expect(found.changes == expected.changes, "\(seed)")
                #expect(found == expected, "\(seed)")
            }
            _ = try store.digest()
        }
        #expect(Set(told.map(\.number)).count == told.count)
        for transaction in told {
            let author = try #require(transaction.author, "\(seed)")
            let removed = diffs.removeValue(forKey: author)
            let diff = try #require(removed, "\(seed): \(author) twice")
            check(
                transaction, diff.before, diff.after,
                "\(seed) \(author) \(transaction.summary)")
        }
        // What is left has no transaction: it changed nothing.
        for (author, diff) in diffs { #expect(diff.before == diff.after, "\(seed) \(author)") }
    }

    private func check(
        _ transaction: Transaction, _ before: Rows, _ after: Rows, _ name: Comment
    ) {
        var touched: [String: Set<ObjectKey>] = [:]
        for (index, change) in transaction.changes.enumerated() {
            let key = change.object.key
            touched[change.entity, default: []].insert(key)
            let old = before[change.entity]?[key]
            let new = after[change.entity]?[key]
            switch change.kind {
            case .insert:
                #expect(new != nil, name)
                let isReborn = transaction.changes[..<index].contains {
                    $0.kind == .delete && $0.object.key == key && $0.entity == change.entity
                }
                #expect(old == nil || isReborn, name)
            case .delete:
                #expect(old != nil, name)
                #expect(change.tombstone != nil, name)
                let isReborn = transaction.changes[index...].contains {
                    $0.kind == .insert && $0.object.key == key && $0.entity == change.entity
                }
                #expect(new == nil || isReborn, name)
            case .update:
                #expect(old != nil && new != nil, name)
                guard let old, let new else { continue }
                let columns = Self.columns[change.entity] ?? []
                for (position, column) in columns.enumerated() where old[position] != new[position]
                {
                    #expect(change.properties.contains(column), name)
                }
            }
        }
        for table in Self.tables.keys {
            let keys = Set(before[table, default: [:]].keys).union(after[table, default: [:]].keys)
            for key in keys where before[table]?[key] != after[table]?[key] {
                #expect(touched[table]?.contains(key) == true, name)
            }
        }
    }

    private static let columns = [
        "parent": ["id", "a", "b", "u"], "child": ["id", "p", "q", "note"],
        "word": ["w", "n", "m"],
        "pair": ["x", "y", "v"],
    ]

    private func rows(_ database: TestDatabase) throws -> Rows {
        var result: Rows = [:]
        for (table, keyCount) in Self.tables {
            for row in try database.rows("SELECT * FROM \(table)") {
                result[table, default: [:]][ObjectKey(Array(row.prefix(keyCount)))] = row
            }
        }
        return result
    }

    private func commit(
        _ database: TestDatabase, _ author: String, _ random: inout SeededRandom
    ) throws {
        try database.sql("BEGIN; INSERT INTO syncd_txn(author) VALUES ('\(author)')")
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let nested = Int.random(in: 0..<8, using: &random) == 0
            if nested { try database.sql("SAVEPOINT s") }
            do { try database.sql(statement(&random)) } catch is SyncError {}
            if nested { try database.sql("ROLLBACK TO s; RELEASE s") }
        }
        try database.sql(Int.random(in: 0..<10, using: &random) == 0 ? "ROLLBACK" : "COMMIT")
    }

    private func statement(_ random: inout SeededRandom) -> String {
        func n(_ limit: Int) -> Int { Int.random(in: 1...limit, using: &random) }
        let verb = ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"][n(4) - 1]
        let value = ["NULL", "1", "1.0", "'one'", "x'01'", "'ONE'"][n(6) - 1]
        let parent = n(3) == 1 ? "NULL" : "\(n(8))"
        switch n(14) {
        case 1, 2: return "\(verb) INTO parent VALUES (\(n(8)), 'a\(n(3))', \(value), 'u\(n(6))')"
        case 3: return "\(verb) INTO child VALUES (\(n(8)), \(parent), \(parent), 'Note \(n(3))')"
        case 4: return "\(verb) INTO word VALUES ('w\(n(6))', \(n(3)), \(n(3)))"
        case 5: return "\(verb) INTO pair VALUES (\(n(3)), 'y\(n(3))', \(value))"
        case 6: return "UPDATE parent SET a = 'a\(n(3))', b = \(value) WHERE id <= \(n(8))"
        case 7: return "UPDATE OR REPLACE parent SET u = 'u\(n(6))' WHERE id = \(n(8))"
        case 8: return "UPDATE child SET note = upper(note), p = \(parent) WHERE id <= \(n(8))"
        case 9: return "UPDATE OR REPLACE word SET w = 'w\(n(6))' WHERE n = \(n(3))"
        case 10: return "UPDATE pair SET v = \(value) WHERE x = \(n(3))"
        case 11: return "DELETE FROM parent WHERE id = \(n(8))"
        case 12: return "DELETE FROM \(["child", "word", "pair"][n(3) - 1]) WHERE 1"
        case 13:
            return "INSERT INTO word VALUES ('w\(n(6))', 1, 1) ON CONFLICT DO UPDATE SET n = n + 1"
        default: return "UPDATE OR REPLACE parent SET id = \(n(8)) WHERE id = \(n(8))"
        }
    }
}
