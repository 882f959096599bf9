import Foundation
import SyncReplica

extension SimulatedStore {
    /// Merges a batch by both lanes, from the same file, and compares all tables. What the general
    /// lane wrote stays.
    func mergeByBoth(_ batch: SimulatedBatch) throws -> Bool {
        let before = try contents()
        let fast = try outcome(of: batch, usesLane: true)
        tookLane(fast.tally)
        guard fast.tally.laneObjects > 0 else {
            try continueHere()
            return fast.isMerged
        }
        try restore(before)
        let general = try outcome(of: batch, usesLane: false)
        try continueHere()
        guard fast.isMerged == general.isMerged else {
            throw SimulationFailure("the lanes differ: one refuses the batch")
        }
        for table in Set(fast.tables.keys).union(general.tables.keys).sorted() {
            let (left, right) = (fast.tables[table] ?? [], general.tables[table] ?? [])
            guard left != right else { continue }
            throw SimulationFailure(
                """
                the lanes differ in \(table): the fast one alone has \
                \(left.subtracting(right).sorted().prefix(3)), the general one \
                \(right.subtracting(left).sorted().prefix(3))
                """)
        }
        return general.isMerged
    }

    /// What a merge leaves.
    private struct Outcome {
        let isMerged: Bool
        /// The rows of each table, as text.
        let tables: [String: Set<String>]
        let tally: MergeTally
    }

    /// The bytes of the file; nothing has it open then.
    private func contents() throws -> Data {
        try replica.close()
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// Makes the file what it was, and keeps it the same file.
    private func restore(_ bytes: Data) throws {
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        database = try WriterDatabase(":memory:")
        for ending in ["-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: path + ending)
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        database = try WriterDatabase(path)
        try database.run("PRAGMA synchronous = OFF")
        try database.run("PRAGMA foreign_keys = ON")
    }

    private func outcome(of batch: SimulatedBatch, usesLane: Bool) throws -> Outcome {
        let wall = wall
        let replica = try StoreReplica(
            path, wall: { wall.milliseconds }, driftMax: Self.driftMax,
            isVerifying: StoreSimulation.isVerifying, usesLane: usesLane)
        let isMerged = try replica.merge(batch.bytes, isAlone: false, goal: batch.goal)
        let tally = replica.tally
        try replica.close()
        return Outcome(isMerged: isMerged, tables: try allTables(), tally: tally)
    }

    private func allTables() throws -> [String: Set<String>] {
        var tables: [String: Set<String>] = [:]
        let names =
            try database.run(
                """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'
                AND sql NOT LIKE 'CREATE VIRTUAL%'
                """) ?? []
        for case .text(let name) in names.map({ $0[0] }) {
            let columns = try database.run("SELECT name FROM pragma_table_xinfo('\(name)')") ?? []
            let wanted = columns.compactMap { row -> String? in
                guard case .text(let column) = row[0] else { return nil }
                // The numbers of objects depend on the order in which they are stored.
                return name == "syncd_object" && column == "id" ? nil : "quote(\"\(column)\")"
            }
            let rows =
                try database.run(
                    "SELECT \(wanted.joined(separator: ", ")) FROM \"\(name)\"") ?? []
            tables[name] = Set(rows.map { "\($0)" })
        }
        return tables
    }
}
