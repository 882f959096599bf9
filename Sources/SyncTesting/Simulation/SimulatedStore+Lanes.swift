import Foundation
import SyncReplica

extension SimulatedStore {
    /// Merges a batch by both lanes, from the same file, and compares all tables. What the general
    /// lane wrote stays.
    func mergeByBoth(_ batch: SimulatedBatch) throws -> Bool {
        try stateByBoth()
        let before = try image()
        var fast: Outcome
        do {
            fast = try outcome(of: batch, usesLane: true)
        } catch let error as SyncError {
            try checkRefusal(of: batch, with: error, by: before)
            throw error
        }
        tookLane(fast.tally)
        guard fast.tally.laneObjects > 0 else {
            try continueHere()
            return fast.isMerged
        }
        fast.tables = try allTables()
        try restore(before)
        var general = try outcome(of: batch, usesLane: false)
        general.tables = try allTables()
        try continueHere()
        guard fast.isMerged == general.isMerged else {
            throw SimulationFailure("the lanes differ: one refuses the batch")
        }
        try Self.compare(fast.tables, with: general.tables)
        return general.isMerged
    }

    /// Checks that the general lane refuses a batch that the other one refused, and that both leave
    /// the same.
    private func checkRefusal(
        of batch: SimulatedBatch, with error: SyncError, by before: FileImage
    ) throws {
        let tables = try allTables()
        try restore(before)
        defer { try? continueHere() }
        do {
            _ = try outcome(of: batch, usesLane: false)
        } catch let other as SyncError where other.code == error.code {
            return try Self.compare(tables, with: try allTables())
        }
        throw SimulationFailure("the lanes differ: the fast one alone refuses: \(error)")
    }

    /// States what was committed here by both ways, from the same file, and compares all tables;
    /// not where there is nothing to state, or the local lane leaves it to the general way. What
    /// the local lane wrote stays.
    func stateByBoth() throws {
        let before = try image()
        let stated = try self.stated()
        // With windows of some changes, too.
        let windowMax = [nil, 1, 2, 3, 7][statements % 5]
        statements += 1
        var fast = try outcome(usesLocalLane: true, windowMax: windowMax) { _ = try $0.vector }
        tookLane(fast.tally)
        guard try fast.tally.statementRefusals.isEmpty && self.stated() != stated else {
            try continueHere()
            return
        }
        fast.tables = try allTables()
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        let after = try FileImage(path)
        try restore(before)
        var general = try outcome(isGeneral: true) { _ = try $0.vector }
        general.tables = try allTables()
        try restore(after)
        try continueHere()
        try Self.compare(fast.tables, with: general.tables)
    }

    /// The last transaction that was stated.
    private func stated() throws -> [[Value]]? {
        try database.run("SELECT value FROM syncd_meta WHERE key = 'stated'")
    }

    /// Throws where two ways have left different tables.
    static func compare(
        _ left: Tables, with right: Tables,
        called ways: (String, String) = ("the fast lane", "the general lane")
    ) throws {
        for table in Set(left.keys).union(right.keys).sorted() {
            let (left, right) = (left[table] ?? [:], right[table] ?? [:])
            guard left != right else { continue }
            throw SimulationFailure(
                """
                \(table) differs. Only \(ways.0): \(Self.rows(left, besides: right)). \
                Only \(ways.1): \(Self.rows(right, besides: left)).
                """)
        }
    }

    private static func rows(_ rows: [String: Int], besides others: [String: Int]) -> [String] {
        Array(rows.filter { others[$0.key] != $0.value }.keys.sorted().prefix(3))
    }

    /// The rows of each table, as text, and how often each is there.
    typealias Tables = [String: [String: Int]]

    /// What a merge or a statement leaves.
    struct Outcome {
        var isMerged = true
        var tables: Tables = [:]
        let tally: MergeTally
    }

    /// The file as it is when the replica has closed it.
    private func image() throws -> FileImage {
        try replica.close()
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return try FileImage(path)
    }

    /// Makes the file what it was, and opens it.
    func restore(_ image: FileImage) throws {
        database = try WriterDatabase(":memory:")
        try image.restore(at: path)
        database = try WriterDatabase(path)
        try database.run("PRAGMA synchronous = OFF")
        try database.run("PRAGMA foreign_keys = ON")
    }

    private func outcome(of batch: SimulatedBatch, usesLane: Bool) throws -> Outcome {
        var isMerged = false
        var outcome = try outcome(usesLane: usesLane) { replica in
            isMerged = try replica.merge(batch.bytes, isAlone: false, goal: batch.goal)
        }
        outcome.isMerged = isMerged
        return outcome
    }

    /// Does something with a replica that is opened for it.
    func outcome(
        isGeneral: Bool = false, usesLane: Bool = false, usesLocalLane: Bool = false,
        windowMax: Int? = nil, _ body: (StoreReplica) throws -> Void
    ) throws -> Outcome {
        let wall = wall
        let replica = try StoreReplica(
            path, wall: { wall.milliseconds }, driftMax: Self.driftMax,
            isVerifying: StoreSimulation.isVerifying,
            mayDangle: StoreSimulation.mayDangle, isGeneral: isGeneral,
            usesLane: usesLane, usesLocalLane: usesLocalLane, windowMax: windowMax,
            partition: partition)
        defer { try? replica.close() }
        try body(replica)
        let tally = replica.tally
        try replica.close()
        return Outcome(tally: tally)
    }

    /// All tables but virtual ones, the product's own included.
    func allTables() throws -> Tables {
        var tables: Tables = [:]
        let names =
            try database.run(
                """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'
                AND sql NOT LIKE 'CREATE VIRTUAL%'
                AND name NOT IN ('syncd_round', 'syncd_extent')
                """) ?? []
        for case .text(let name) in names.map({ $0[0] }) {
            let columns = try database.run("SELECT name FROM pragma_table_xinfo('\(name)')") ?? []
            let wanted = columns.compactMap { row -> String? in
                guard case .text(let column) = row[0] else { return nil }
                // The numbers of objects and conflicts depend on the order in which they are
                // stored.
                if ["syncd_object", "syncd_conflict"].contains(name) && column == "id" {
                    return nil
                }
                // The numbers of rounds are drawn.
                if name == "syncd_mark" && column == "round" {
                    return "(SELECT quote(merged) FROM syncd_round WHERE id = round)"
                }
                if name == "syncd_side" && column == "conflict" {
                    return "(SELECT quote(uid) || cell || ' ' || replica || ' ' || number "
                        + "FROM syncd_conflict WHERE id = conflict)"
                }
                // All bytes of a text: quote() ends at the first NUL.
                return "quote(iif(typeof(\"\(column)\") = 'text', "
                    + "'text ' || hex(\"\(column)\"), \"\(column)\"))"
            }
            // When triggers were last checked: a process that goes on with a store of an earlier
            // version, after a kill, checks them after it has made the tables that were missing.
            let condition = name == "syncd_meta" ? " WHERE key <> 'schema'" : ""
            let rows =
                try database.run(
                    "SELECT \(wanted.joined(separator: ", ")) FROM \"\(name)\"\(condition)") ?? []
            tables[name] = Dictionary(rows.map { ("\($0)", 1) }, uniquingKeysWith: +)
        }
        return tables
    }
}
