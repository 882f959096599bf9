import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Random transactions on random schemas: reverting the last one gives the tables before it, and
/// restoring a deleted object gives its values, wherever history is stored.
@Suite struct RandomUndoTests {
    private typealias Tables = HistoryReplay.Tables

    @Test(arguments: UndoMode.all, TestSeed.each(of: 1...6))
    func undoGivesTheTablesBefore(_ mode: UndoMode, seed: TestSeed) throws {
        var run = try Run(mode, seed: seed)
        do { for _ in 0..<40 { try run.step() } } catch {
            Issue.record("\(seed), \(mode.testDescription): \(error)\n\(run.trail)")
        }
        // A constraint may refuse it: two rows that have swapped unique values.
        #expect(run.undone * 2 > run.tried, "\(seed): \(run.undone) of \(run.tried)")
    }

    private struct Run {
        struct Wrong: Error, CustomStringConvertible { let description: String }

        private let stage: UndoStage
        private let schema: RandomSchema
        private let sql: RandomSQL
        private let writer: LibraryWriter
        private let reader: PlainConnection
        private var random: SeededRandom
        private(set) var trail = ""
        private(set) var tried = 0
        private(set) var undone = 0

        init(_ mode: UndoMode, seed: TestSeed) throws {
            random = seed.random
            schema = RandomSchema(&random)
            // Without triggers of the user: what they do to an undo is theirs.
            sql = RandomSQL(schema, &random)
            stage = try UndoStage(mode, [:])
            for statement in schema.tables.flatMap(\.sql) {
                trail += statement + ";\n"
                try stage.database.sql(statement)
            }
            writer = try LibraryWriter(
                WriterSettings(path: stage.database.path, pragmas: ["PRAGMA foreign_keys = ON"]))
            for _ in 0..<12 { try writer.run([schema.statement(&random)]) }
            let options = schema.tables.map { ($0.name, CaptureOptions(undo: true)) }
            try Store.track(
                stage.database.path, options: Dictionary(uniqueKeysWithValues: options))
            try stage.store.reloadEntities()
            reader = try PlainConnection(stage.database.path)
        }

        mutating func step() throws {
            let before = try tables()
            let head = try stage.store.head().number
            let statements = sql.transaction(author: random.once(in: 2) ? "a" : nil, &random)
            trail += statements.joined(separator: ";\n") + ";\n"
            try writer.run(statements)
            try stage.settle()
            let after = try tables()
            guard try stage.store.head().number != head else { return }
            let transaction = try stage.last()
            if random.once(in: 3) { return try restore(transaction, before) }
            if random.once(in: 3) { return }
            trail += "-- revert \(transaction.number): \(transaction.summary)\n"
            tried += 1
            do {
                let report = try stage.store.revert(transaction.number)
                try stage.settle()
                if report.refusals.isEmpty {
                    guard try tables() == before else {
                        throw Wrong(description: "other tables than before: \(report)")
                    }
                    undone += 1
                } else if report.isComplete {
                    throw Wrong(description: "refusals, and complete")
                }
            } catch let error as SyncError where error.code == .refused {
                guard error.hint != nil else { throw Wrong(description: "no hint: \(error)") }
                guard try tables() == after else { throw Wrong(description: "half written") }
            }
        }

        private func restore(_ transaction: Transaction, _ before: Tables) throws {
            for change in transaction.changes where change.kind == .delete {
                let key = change.object.key
                guard try tables()[change.entity]?[key] == nil,
                    let old = before[change.entity]?[key]
                else { continue }
                let name = ObjectName(entity: change.entity, key: key)
                do {
                    let report = try stage.store.restore(name)
                    try stage.settle()
                    let now = try tables()[change.entity]?[key]
                    let isWhole = !report.refusals.contains { $0.object == change.object }
                    guard now == old || now != nil && !isWhole else {
                        throw Wrong(description: "restored \(change.object.path): \(report)")
                    }
                } catch let error as SyncError where error.code == .refused {
                    guard error.hint != nil else { throw Wrong(description: "no hint: \(error)") }
                }
            }
        }

        private func tables() throws -> Tables {
            var tables: Tables = [:]
            for table in schema.tables {
                let rows = try reader.rows(
                    "SELECT \(RandomSchema.list(table.columns)) FROM "
                        + SQLName.quoted(table.name))
                tables[table.name] = Dictionary(
                    uniqueKeysWithValues: rows.map {
                        (ObjectKey(Array($0.prefix(table.key.count))), $0)
                    })
            }
            return tables
        }
    }
}
