import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Reading small commits out of their frames gives what SQL gives, for every kind of commit.
///
/// `SYNCD_SEED=n` repeats one seed, `SYNCD_SEEDS=n` runs the first n.
@Suite("Frame looks", .timeLimit(.minutes(30)))
struct FrameLookTests {
    private static let seedCount: UInt64 = 24
    private static let stepsPerSeed = 60

    @Test func framesGiveWhatSQLGives() throws {
        var looks = 0
        for seed in TestSeed.first(Self.seedCount) {
            let run = try FrameRun(seed: seed)
            do {
                for _ in 0..<Self.stepsPerSeed { try run.step() }
            } catch {
                Issue.record("\(seed): \(error)\n\(run.trail.joined(separator: "\n"))")
                return
            }
            looks += try run.frameLookCount
        }
        print("frame looks: \(looks)")
        if TestSeed.given == nil { #expect(looks > 4 * Int(Self.seedCount)) }
    }

    /// The usual commit needs no SQL.
    @Test func smallCommitsNeedNoSQL() throws {
        let database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, n)")
        let store = try database.store()
        try store.record(in: BoundaryJournal(directory: database.folder.path, of: store))
        for id in 0..<20 {
            try database.sql("INSERT INTO item VALUES (\(id), 'a')")
            #expect(try store.poll().transactions.map(\.summary) == ["insert item/\(id)"])
        }
        for id in 0..<20 {
            try database.sql("UPDATE item SET n = 'b' WHERE id = \(id)")
            #expect(try store.poll().transactions.map(\.summary) == ["update item/\(id) n"])
        }
        let count = try store.live.withState { _, live in live.frameLookCount }
        #expect(count > 30)
        #expect(try store.history().count == 40)
    }
}

/// One seed: a database, a writer, and two that follow it: the one with frames, the other without.
private final class FrameRun {
    private(set) var trail: [String] = []
    private var random: SeededRandom
    private let folder: TemporaryFolder
    private let path: String
    private let writer: PlainConnection
    private let frames: Store
    private let plain: Store
    private var newest = 0
    private var told = 0

    init(seed: TestSeed) throws {
        random = seed.random
        folder = try TemporaryFolder()
        path = folder.file("store.db")
        writer = try PlainConnection(path)
        let size = random.pick([512, 1_024, 4_096, 4_096, 65_536])
        let vacuum = random.pick([0, 0, 1, 2])
        let encoding = random.once(in: 6) ? "UTF-16" : "UTF-8"
        let setup = """
            PRAGMA page_size = \(size); PRAGMA auto_vacuum = \(vacuum);
            PRAGMA encoding = '\(encoding)'; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
            CREATE TABLE item(id INTEGER PRIMARY KEY, a, b REAL, c TEXT);
            CREATE TABLE named(k TEXT PRIMARY KEY, v);
            CREATE TABLE wide(id INTEGER PRIMARY KEY, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9);
            CREATE TABLE mirror(seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL, pk,
              v0, v1, v2, v3, v4, v5);
            """
        trail.append(setup)
        try writer.run(setup)
        let undo = CaptureOptions(undo: random.once(in: 2))
        try Store.track(path, options: ["item": undo, "named": undo])
        try writer.run("PRAGMA wal_autocheckpoint = \(random.pick([0, 3, 50, 1_000]))")
        frames = try Store.open(path)
        try frames.record(in: BoundaryJournal(directory: folder.path, of: frames))
        // Beside a daemon another reader takes what it has recorded.
        plain = try Store.open(path)
        _ = try (frames.poll(), plain.poll())
    }

    var frameLookCount: Int {
        get throws { try frames.live.withState { _, live in live.frameLookCount } }
    }

    func step() throws {
        for _ in 0..<random.pick([1, 1, 1, 1, 2, 3, 12]) { try commit() }
        try compare()
        if random.once(in: 15) {
            trail.append("-- digest")
            while try plain.digest() {}
            try compare()
        }
        if random.once(in: 40) {
            trail.append("-- direct")
            let direct = try Store.open(path)
            _ = try direct.history()
            try direct.close()
            try compare()
        }
    }

    private func compare() throws {
        try plain.live.withState { _, live in live.tail = nil }
        let (found, expected) = (try frames.poll(), try plain.poll())
        trail.append("-- told \(expected.transactions.map(\.summary))")
        guard found.transactions == expected.transactions, found.tooLarge == expected.tooLarge,
            found.schemaChanged == expected.schemaChanged
        else { throw FrameMismatch("found \(found), expected \(expected)") }
        let ends = try [frames, plain].map { try $0.live.withState { _, live in live.bounded } }
        guard ends[0] == ends[1] else { throw FrameMismatch("ends at \(ends)") }
        told += found.transactions.count
    }

    private func commit() throws {
        switch random.below(30) {
        case 0: try run(random.pick(["PASSIVE", "RESTART", "TRUNCATE"]).checkpoint)
        case 1 where random.once(in: 3): try run("VACUUM")
        case 2 where random.once(in: 3):
            newest += 1
            try run("CREATE INDEX i\(newest) ON item(a, \(newest))")
        case 3 where random.once(in: 3):
            newest += 1
            try run("ALTER TABLE wide ADD COLUMN more\(newest)")
        case 4: try run("PRAGMA incremental_vacuum")
        case 5:
            try run("INSERT INTO mirror SELECT * FROM syncd_log WHERE true ON CONFLICT DO NOTHING")
        case 6: try run("INSERT INTO mirror(op) VALUES (\(random.below(99))); DELETE FROM mirror")
        default:
            var statements: [String] = []
            for _ in 0..<random.pick([1, 1, 1, 2, 5, 40]) { statements.append(draw()) }
            if random.once(in: 8) { statements.insert(marker(), at: 0) }
            let end = random.once(in: 12) ? "ROLLBACK" : "COMMIT"
            try run("BEGIN IMMEDIATE; \(statements.joined(separator: "; ")); \(end)")
        }
    }

    private func run(_ sql: String) throws {
        trail.append(sql)
        do {
            try writer.run(sql)
        } catch let error as SyncError where error.code == .busy || error.code == .refused {
            if sql.hasPrefix("BEGIN") { try? writer.run("ROLLBACK") }
            trail.append("-- \(error)")
        }
    }

    private func marker() -> String {
        let author = random.pick(["'ann'", "'ben'", "NULL"])
        return "INSERT INTO syncd_txn(author) VALUES (\(author))"
    }

    private func value() -> String {
        switch random.below(9) {
        case 0: "NULL"
        case 1: "\(random.below(3))"
        case 2: "-\(random.below(1 << 40))"
        case 3: "9223372036854775807"
        case 4: "\(random.below(100)).5"
        case 5: "'\(String(repeating: "é", count: random.below(30)))'"
        case 6: "zeroblob(\(random.pick([0, 3, 300, 5_000])))"
        case 7: "1e300"
        default: "'text'"
        }
    }

    private func draw() -> String {
        let id = random.below(12)
        switch random.below(11) {
        case 0, 1, 2:
            newest += 1
            return "INSERT INTO item VALUES (\(1_000 + newest), \(value()), \(value()), \(value()))"
        case 3: return "INSERT OR REPLACE INTO item(id, a) VALUES (\(id), \(value()))"
        case 4: return "UPDATE item SET a = \(value()), c = \(value()) WHERE id = \(id)"
        case 5: return "DELETE FROM item WHERE id = \(id)"
        case 6: return "UPDATE OR REPLACE item SET id = \(random.below(12)) WHERE id = \(id)"
        case 7: return "INSERT OR REPLACE INTO named VALUES ('k\(id)', \(value()))"
        case 8: return "UPDATE OR IGNORE named SET k = 'k\(random.below(12))' WHERE k = 'k\(id)'"
        case 9: return "INSERT OR REPLACE INTO wide(id, c9) VALUES (\(id), \(value()))"
        default: return "DELETE FROM wide WHERE id = \(id)"
        }
    }
}

private struct FrameMismatch: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension String {
    fileprivate var checkpoint: String { "PRAGMA wal_checkpoint(\(self))" }
}
