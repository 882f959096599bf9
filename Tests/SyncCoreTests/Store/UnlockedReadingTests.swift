import Foundation
import SyncStorage
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// In the rollback journal modes the live connection reads without locks, and never takes what a
/// writer was in the middle of for a state of the store.
@Suite("Reading without locks") struct UnlockedReadingTests {
    private let database: TestDatabase
    private let reader: PlainConnection
    private let reading: UnlockedReading

    init() throws {
        database = try TestDatabase(
            wal: false, "CREATE TABLE t(id INTEGER PRIMARY KEY, x)", "INSERT INTO t VALUES (1, 0)")
        reader = try PlainConnection(database.path)
        reading = try #require(UnlockedReading(reader.handle))
    }

    /// What is in the only row; nil when a writer disturbed the reading.
    private func read(while body: () throws -> Void = {}) throws -> Int64? {
        let outcome = try reading.read {
            let value = try reader.integer("SELECT x FROM t")
            try body()
            return value
        }
        if case .read(let value) = outcome { return value }
        return nil
    }

    private func impatient() throws -> PlainConnection {
        let writer = try PlainConnection(database.path)
        try writer.run("PRAGMA busy_timeout = 0; PRAGMA synchronous = OFF")
        return writer
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "MEMORY"])
    func aWriterThatWaitsForNothingIsNotHeldUp(_ mode: String) throws {
        let writer = try impatient()
        try writer.run("PRAGMA journal_mode = \(mode)")
        #expect(try read() == 0)
        let disturbed = try read { try writer.run("UPDATE t SET x = 1") }
        #expect(disturbed == nil, "it was committed between the first page and the last")
        #expect(try read() == 1)
        try writer.run("BEGIN; UPDATE t SET x = 2; ROLLBACK")
        #expect(try read() == 1)
    }

    @Test func nothingIsReadWhileAWriterIsAtWork() throws {
        let writer = try impatient()
        try writer.run("BEGIN IMMEDIATE")
        #expect(try read() == nil)
        try writer.run("UPDATE t SET x = 1; COMMIT")
        #expect(try read() == 1)
        let disturbed = try read { try writer.run("BEGIN IMMEDIATE") }
        #expect(disturbed == nil)
    }

    /// Pages of a transaction that is too large for its writer's memory are in the file before it
    /// is committed. They must not stay in the reader's cache.
    @Test func whatIsRolledBackIsNeverRead() throws {
        let writer = try impatient()
        try writer.run("PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
        let disturbed = try read {
            try writer.run("BEGIN; UPDATE t SET x = 7")
            try writer.run(
                """
                WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO t SELECT i, hex(randomblob(2000)) FROM n
                """)
            _ = try reader.rows("SELECT count(*) FROM t")
        }
        #expect(disturbed == nil)
        try writer.run("ROLLBACK")
        #expect(try read() == 0)
        #expect(try reader.integer("SELECT count(*) FROM t") == 1)
    }

    @Test func aJournalThatIsNotFinishedIsLeftAlone() throws {
        let journal = database.path + "-journal"
        for (bytes, value) in [([], 0), ([0, 0, 0, 0], 0), ([0xd9, 0xd5, 0x05, 0xf9], nil)]
            as [([UInt8], Int64?)]
        {
            try Data(bytes).write(to: URL(fileURLWithPath: journal))
            #expect(try read() == value)
            #expect(FileManager.default.fileExists(atPath: journal))
        }
    }

    @Test func withoutLocksNothingIsWritten() throws {
        try reader.run("PRAGMA busy_timeout = 0")
        #expect(throws: SyncError(.busy, "")) {
            try reading.read { try reader.run("UPDATE t SET x = 9") }
        }
        try reader.run("UPDATE t SET x = 3")
        #expect(try read() == 3)
    }

    @Test func aSecondSwitchOfAConnectionIsTheFirst() throws {
        let again = try #require(UnlockedReading(reader.handle))
        guard case .read(0) = try again.read({ try reader.integer("SELECT x FROM t") }) else {
            Issue.record("not read")
            return
        }
        #expect(try read() == 0)
        try reader.run("UPDATE t SET x = 4")
        #expect(try read() == 4)
    }

    @Test func inWalModeItIsNotNeeded() throws {
        try database.sql("PRAGMA journal_mode = WAL; UPDATE t SET x = 5")
        guard case .notNeeded = try reading.read({}) else {
            Issue.record("read without locks in WAL mode")
            return
        }
        #expect(try reader.integer("SELECT x FROM t") == 5)
    }

    /// Opened without a lock, the WAL could be deleted under the reader, which would then keep its
    /// lock for good: no writer could commit any more.
    @Test(arguments: [false, true]) func aSwitchToWalWhileNothingIsLockedIsDisturbance(
        isSwitchedBack: Bool
    ) throws {
        let writer = try impatient()
        let outcome = try reading.read {
            try writer.run("PRAGMA journal_mode = WAL; UPDATE t SET x = 6")
            let value = try? reader.integer("SELECT x FROM t")
            if isSwitchedBack {
                try writer.run("PRAGMA journal_mode = DELETE")
                #expect(try writer.value("PRAGMA journal_mode") == .text("delete"))
            }
            return value
        }
        if case .disturbed = outcome {} else { Issue.record("\(outcome)") }
        try writer.run("UPDATE t SET x = 7")
        if isSwitchedBack { #expect(try read() == 7) }
        #expect(try reader.integer("SELECT x FROM t") == 7)
        try writer.run("UPDATE t SET x = 8")
        #expect(try reader.integer("SELECT x FROM t") == 8)
    }

    // MARK: The store

    /// Whatever was disturbed, each commit is returned once, in order, as history has it.
    @Test(arguments: ["DELETE", "PERSIST", "TRUNCATE"])
    func disturbedLooksLoseAndRepeatNothing(_ mode: String) async throws {
        let seed = TestSeed.drawn()
        let database = try TestDatabase(wal: false, "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        let store = try database.store()
        let writer = try PlainConnection(database.path)
        try writer.run("PRAGMA synchronous = OFF; PRAGMA journal_mode = \(mode)")
        let count = 400
        let writing = Thread {
            var random = seed.random
            for number in 1...count {
                try? writer.run("INSERT INTO t VALUES (\(number), zeroblob(\(number % 7 * 900)))")
                usleep(UInt32.random(in: 0...600, using: &random))
            }
        }
        writing.start()
        var told: [Transaction] = []
        let hasAll = try await eventually(every: .microseconds(200)) {
            do {
                told += try store.poll(isRepeated: true).transactions
            } catch let error as SyncError where error.code == .busy {
            }
            return told.reduce(0) { $0 + $1.changes.count } >= count
        }
        #expect(hasAll, "\(seed)")
        #expect(
            told.flatMap(\.changes).map(\.object.path) == (1...count).map { "t/\($0)" }, "\(seed)")
        #expect(told.map(\.number) == told.map(\.number).sorted(), "\(seed)")
        #expect(try store.history().map(\.number) == told.map(\.number), "\(seed)")
        while try store.digest() {}
        #expect(try store.history().map(\.number) == told.map(\.number), "\(seed)")
    }

    @Test func aWriterThatIsNeverQuietDoesNotDelayNoticesWithoutEnd() async throws {
        let database = try TestDatabase(wal: false, "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        let store = try database.store()
        // As the daemon reads; others settle, and wait for the lock that this takes.
        let folder = try TemporaryFolder()
        try store.record(in: BoundaryJournal(directory: folder.path, of: store))
        try database.sql("INSERT INTO t VALUES (1, 1); BEGIN IMMEDIATE")
        #expect(throws: SyncError(.busy, "")) { try store.poll(isRepeated: true) }
        var told: [Transaction] = []
        let isTold = await eventually {
            told += (try? store.poll(isRepeated: true).transactions) ?? []
            return !told.isEmpty
        }
        #expect(isTold)
        #expect(told.map(\.summary) == ["insert t/1"])
        try database.sql("INSERT INTO t VALUES (2, 1); COMMIT")
        #expect(try store.poll(isRepeated: true).transactions.map(\.summary) == ["insert t/2"])
    }
}
