import Glibc
import SyncStorage
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// The comparison of all rows, in slices, that the daemon makes from time to time.
@Suite struct FullComparisonTests {
    private let database: TestDatabase
    private let store: Store

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a)",
            "CREATE TABLE pair(x TEXT, y INTEGER, v, PRIMARY KEY(x, y)) WITHOUT ROWID",
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1800)
            INSERT INTO item SELECT i, i FROM n
            """,
            "INSERT INTO pair SELECT 'x' || id, id, a FROM item WHERE id <= 700")
        store = try database.store()
        while try store.digest() {}
    }

    /// Runs `during` between the slices.
    @discardableResult
    private func compare(during: (Int) throws -> Void = { _ in }) throws -> Int {
        let comparison = try store.fullComparison()
        var slices = 0
        while case .goesOn = try comparison.next(at: Timestamp(milliseconds: 5)) {
            slices += 1
            try during(slices)
        }
        return comparison.recoveredCount
    }

    private var recovered: [String] {
        get throws {
            try store.history().filter { $0.flags.contains(.recovered) }.flatMap(\.changes)
                .map { "\($0.kind.name) \($0.object.path)" }.sorted()
        }
    }

    /// A part of the changes of a transaction is in the history tables, the rest, and what deleted
    /// its rows again, in the log alone.
    @Test func aHalfDigestedTransactionIsExplainedByTheLog() throws {
        let folder = try TemporaryFolder()
        try store.record(in: BoundaryJournal(directory: folder.path, of: store))
        try database.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 10001 UNION ALL SELECT i + 1 FROM n WHERE i < 14000)
            INSERT INTO item SELECT i, i FROM n
            """)
        _ = try store.poll()
        try database.sql("DELETE FROM item WHERE id > 10000")
        _ = try store.poll()
        let gate = BetweenSlices {
            let halfway = """
                SELECT count(*) FROM syncd_change
                WHERE seq > coalesce((SELECT value FROM syncd_meta WHERE key = 'digested'), 0)
                """
            guard try database.rows(halfway) != [[.integer(0)]] else { return false }
            #expect(try Store.missedChanges(database.path)?.count == 0)
            return true
        }
        try store.live.withState { _, live in
            _ = try live.prepareDigestion().digester.digest(
                live.boundaries, through: gate, while: { true })
        }
        #expect(gate.looks > 1, "no slice was written alone")
    }

    @Test func writesWithTriggersSwitchedOffAreFound() throws {
        try database.withoutTriggers {
            try database.sql("UPDATE item SET a = 'x' WHERE id IN (1, 501, 1800)")
            try database.sql("DELETE FROM item WHERE id IN (500, 1200)")
            try database.sql("INSERT INTO item VALUES (5000, 1)")
            try database.sql("DELETE FROM pair WHERE y = 700; UPDATE pair SET v = 0 WHERE y = 3")
        }
        #expect(try store.lastComparison() == nil)
        #expect(try compare() == 8)
        #expect(
            try recovered == [
                "delete item/1200", "delete item/500", "delete pair/x700,700", "insert item/5000",
                "update item/1", "update item/1800", "update item/501", "update pair/x3,3",
            ])
        #expect(try store.lastComparison() == Timestamp(milliseconds: 5))
        #expect(try Store.lastComparison(database.path) == Timestamp(milliseconds: 5))
        #expect(try compare() == 0)
    }

    enum WayToDrop: CaseIterable { case alter, rebuild, migrate }

    /// The fingerprints of the rows have a column that is no more: nothing can be compared with
    /// them, and the rows get new ones.
    @Test(arguments: WayToDrop.allCases)
    func aDroppedColumnDoesNotEndTheComparisons(_ way: WayToDrop) throws {
        try database.sql("ALTER TABLE item ADD COLUMN b")
        _ = try store.repairCapture()
        try database.sql("UPDATE item SET b = 1 WHERE id <= 3")
        while try store.digest() {}
        switch way {
        case .alter:
            #expect(
                try Store.alter(database.path, running: "ALTER TABLE item DROP COLUMN b")
                    .allSatisfy { $0.problem != .partlyCompared })
        case .rebuild:
            let findings = try Store.alter(
                database.path,
                running: """
                    CREATE TABLE n(id INTEGER PRIMARY KEY, a); INSERT INTO n SELECT id, a FROM item;
                    DROP TABLE item; ALTER TABLE n RENAME TO item
                    """)
            #expect(findings.contains { $0.problem == .partlyCompared })
        case .migrate:
            try Store.beginMigration(database.path, of: "test", by: [getpid()])
            try database.sql("ALTER TABLE item DROP COLUMN b")
            let report = try Store.endMigration(database.path, of: "test")
            #expect(report.repair.partlyCompared == ["item"])
        }
        let missed = try Store.missedChanges(database.path)
        #expect(missed?.count == 0 && missed?.partlyComparedCount == 0)
        try database.withoutTriggers { try database.sql("UPDATE item SET a = 'x' WHERE id = 900") }
        #expect(try Store.missedChanges(database.path)?.count == 1)
        #expect(try compare() == 1)
        #expect(try recovered == ["update item/900"])
    }

    /// Fingerprints of an earlier version of syncd, which kept them after a column was dropped.
    @Test func rowsWithStaleFingerprintsGetNewOnes() throws {
        try database.sql("ALTER TABLE item ADD COLUMN b")
        _ = try store.repairCapture()
        try database.sql("UPDATE item SET b = 1 WHERE id <= 3")
        while try store.digest() {}
        try database.sql("CREATE TEMP TABLE stale AS SELECT * FROM syncd_fingerprint")
        _ = try Store.alter(database.path, running: "ALTER TABLE item DROP COLUMN b")
        try database.sql("INSERT OR REPLACE INTO syncd_fingerprint SELECT * FROM stale")
        #expect(try Store.missedChanges(database.path)?.partlyComparedCount ?? 0 > 0)
        #expect(try compare() == 0)
        #expect(try Store.missedChanges(database.path)?.partlyComparedCount == 0)
    }

    /// Whatever is committed between the slices is in the log, and is not found again.
    @Test func whatTheLogHasIsNotRecordedAgain() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        let found = try compare { slice in
            for _ in 0..<20 {
                let id = Int.random(in: 1...2_000, using: &random)
                try database.sql("INSERT OR REPLACE INTO item VALUES (\(id), \(slice))")
                try database.sql("DELETE FROM item WHERE id = \(id + 7)")
                try database.sql("UPDATE pair SET v = \(slice) WHERE y = \(id)")
            }
            if slice.isMultiple(of: 2) { while try store.digest() {} }
        }
        #expect(found == 0, "\(seed)")
        #expect(try recovered == [], "\(seed)")
    }

    @Test func nothingIsWrittenWhereNothingIsFound() throws {
        let before = try database.rows("SELECT count(*) FROM syncd_log")
        try database.sql("BEGIN IMMEDIATE")
        // It would be refused: a writer has the lock.
        let comparison = try store.fullComparison()
        for _ in 0..<5 {
            guard case .goesOn = try comparison.next() else {
                Issue.record("it is finished")
                return
            }
        }
        try database.sql("COMMIT")
        #expect(try database.rows("SELECT count(*) FROM syncd_log") == before)
    }

    @Test func aChangeOfTheSchemaEndsIt() throws {
        let comparison = try store.fullComparison()
        guard case .goesOn = try comparison.next() else {
            Issue.record("it did not begin")
            return
        }
        try database.sql("ALTER TABLE item ADD COLUMN b")
        guard case .outdated = try comparison.next() else {
            Issue.record("it went on")
            return
        }
        #expect(try store.lastComparison() == nil)
    }
}

/// Looks at the store between the slices of a digest.
private final class BetweenSlices: DigestGate {
    private let look: () throws -> Bool
    private(set) var looks = 0

    init(_ look: @escaping () throws -> Bool) { self.look = look }

    func enter(after digested: Int64, upTo end: Int64) throws -> Bool {
        if try look() { looks += 1 }
        return true
    }

    func leave() {}
}
