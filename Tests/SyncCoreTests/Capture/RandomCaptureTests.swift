import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage

/// Random writers against random schemas: what the log says happened is what happened.
@Suite struct RandomCaptureTests {
    @Test func logTellsWhatHappened() throws {
        for seed in TestSeed.first(60) {
            var trail: [String] = []
            do {
                try run(seed, &trail)
            } catch {
                Issue.record("\(seed): \(error)\n\(trail.joined(separator: ";\n"))")
                return
            }
        }
    }

    private func run(_ seed: TestSeed, _ trail: inout [String]) throws {
        var random = seed.random
        let schema = RandomSchema(&random)
        let folder = try TemporaryFolder()
        let path = folder.file("random.db")
        let db = try PlainConnection(path)
        try db.run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        for sql in schema.tables.flatMap(\.sql) + schema.triggers {
            trail.append(sql)
            try db.run(sql)
        }
        for _ in 0..<10 { try? db.run(schema.statement(&random)) }
        let options = Dictionary(
            uniqueKeysWithValues: schema.tables.map { ($0.name, CaptureOptions(undo: $0.undo)) })
        try Tracker(path: path).track(options: options)
        let replays = try replays(db)
        trail.append("-- tracked")
        for pragma in ["recursive_triggers", "foreign_keys"] {
            let sql = "PRAGMA \(pragma) = \(random.below(2))"
            trail.append(sql)
            try db.run(sql)
        }
        if random.once(in: 3) { try db.run("PRAGMA trusted_schema = OFF") }
        for _ in 0..<60 {
            let before = try snapshot(db, schema)
            let last = try db.value("SELECT coalesce(max(seq), 0) FROM syncd_log")
            let start = trail.count
            transaction(db, schema, &random, &trail)
            let entries = try RawLog.entries(db, after: Int64(last.description) ?? 0)
            let after = try snapshot(db, schema)
            for (entity, replay) in replays {
                do {
                    try replay.check(
                        entries.filter { $0.entity == entity }, before: before[entity] ?? [:],
                        after: after[entity] ?? [:])
                } catch {
                    trail.insert("-- the last transaction", at: start)
                    throw LogReplay.Mismatch(
                        description: "entity \(entity): \(error)\n"
                            + entries.map { "\($0)" }.joined(separator: "\n"))
                }
            }
        }
    }

    private func transaction(
        _ db: PlainConnection, _ schema: RandomSchema, _ random: inout SeededRandom,
        _ trail: inout [String]
    ) {
        func run(_ sql: String) {
            trail.append(sql)
            do {
                try db.run(sql)
            } catch {
                trail[trail.count - 1] += " -- failed"
            }
        }
        let single = random.once(in: 2)
        if !single { run("BEGIN") }
        for _ in 0..<(single ? 1 : 1 + random.below(6)) {
            if !single, random.once(in: 5) {
                run("SAVEPOINT s")
                for _ in 0..<2 { run(schema.statement(&random)) }
                run(random.pick(["RELEASE s", "ROLLBACK TO s", "ROLLBACK TO s"]))
            }
            run(schema.statement(&random))
        }
        if db.inTransaction { run(random.once(in: 6) ? "ROLLBACK" : "COMMIT") }
        if db.inTransaction { run("ROLLBACK") }
    }

    private func replays(_ db: PlainConnection) throws -> [Int64: LogReplay] {
        var replays: [Int64: LogReplay] = [:]
        for row in try db.rows("SELECT id, layout FROM syncd_entity") {
            guard case .integer(let id) = row[0], case .text(let json) = row[1] else { continue }
            replays[id] = LogReplay(layout: try CaptureLayout(json: json))
        }
        return replays
    }

    private func snapshot(
        _ db: PlainConnection, _ schema: RandomSchema
    ) throws -> [Int64: LogReplay.Rows] {
        var snapshot: [Int64: LogReplay.Rows] = [:]
        for row in try db.rows("SELECT id, name FROM syncd_entity") {
            guard case .integer(let id) = row[0], case .text(let name) = row[1],
                let table = schema.tables.first(where: { $0.name == name })
            else { continue }
            let columns = RandomSchema.list(table.columns)
            let key = RandomSchema.list(table.key)
            snapshot[id] = Dictionary(
                uniqueKeysWithValues: try db.rows(
                    "SELECT \(key), \(columns) FROM \(SQLName.quoted(name))"
                ).map { values in
                    let key = Array(values.prefix(table.key.count))
                    return (key, Array(values.dropFirst(table.key.count)))
                })
        }
        return snapshot
    }
}
