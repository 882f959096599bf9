import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// A process that merges is killed, again and again, at any instruction or as a statement begins.
@Suite("A merge that is killed")
struct KilledMergeTests {
    /// How many kills; `SYNCD_KILLS` asks for more.
    private static let rounds =
        ProcessInfo.processInfo.environment["SYNCD_KILLS"].flatMap { Int($0) } ?? 25

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT, rank INTEGER,
          owner INTEGER REFERENCES owner(id) ON DELETE SET NULL);
        INSERT INTO owner VALUES (1, 'ann'), (2, 'bob');
        INSERT INTO item VALUES (1, 'first', 1, 1), (2, 'second', 2, 2);
        """

    private static var tool: String {
        Bundle.main.bundleURL.deletingLastPathComponent().appendingPathComponent("syncsim").path
    }

    @Test(
        "leaves the state before or after, and the next one goes on", .timeLimit(.minutes(30)))
    func killedAtAnyInstruction() throws {
        let a = try writtenStore(transactions: 40)
        let seed = TestSeed.drawn()
        var random = seed.random
        let begin = ContinuousClock.now
        _ = try apply(to: copyOfB("timed"))
        let whole = (ContinuousClock.now - begin) / .seconds(1)
        var path = try copyOfB("b0")
        for round in 0..<Self.rounds {
            let delay = Double.random(in: 0...1, using: &random) * whole
            try kill(path, after: delay)
            try check(path, a, "\(seed)")
            if round % 5 == 4 { path = try copyOfB("b\(round + 1)") }
        }
        _ = try apply(to: path)
        try check(path, a, "\(seed)", isComplete: true)
    }

    /// With as many rounds as there are statements, at each of them.
    @Test(
        "leaves the state before or after, at whatever statement it dies",
        .timeLimit(.minutes(30)))
    func killedAtStatements() throws {
        let a = try writtenStore(transactions: 6)
        let count = try #require(try apply(to: copyOfB("counted")))
        let seed = TestSeed.drawn()
        var random = seed.random
        let stepMax = max(1, 2 * count / Self.rounds - 1)
        var statement = Int.random(in: 1...stepMax, using: &random)
        while statement <= count {
            let path = try copyOfB("s\(statement)")
            #expect(try apply(to: path, killedAt: statement) == nil, "\(statement), \(seed)")
            try check(path, a, "killed at \(statement)")
            _ = try apply(to: path)
            try check(path, a, "killed at \(statement)", isComplete: true)
            try FileManager.default.removeItem(atPath: path)
            statement += Int.random(in: 1...stepMax, using: &random)
        }
    }

    /// A store that has written since its replica `b` was made, and what `b` lacks in a folder.
    private func writtenStore(transactions: Int) throws -> TestStore {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let snapshot = try a.replica.batches(since: VersionVector())
        let clone = try StoreReplica.create(at: folder.file("b.db"), from: snapshot[0])
        let since = try clone.vector
        try clone.close()
        try write(a, transactions: transactions)
        try FileManager.default.createDirectory(
            atPath: folder.file("batches"), withIntermediateDirectories: true)
        for (number, batch) in try a.replica.batches(since: since, factsMax: 100).enumerated() {
            let name = String(format: "batches/%04d", number)
            try Data(batch).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        return a
    }

    private static var besideTests: String {
        let arguments = ProcessInfo.processInfo.arguments
        let bundle = arguments.first { $0.hasSuffix(".xctest") } ?? arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent("syncsim").path
    }

    /// What is merged is whole: the vector covers no more and no less than what the tables show.
    private func check(
        _ path: String, _ a: TestStore, _ comment: Comment, isComplete: Bool = false
    ) throws {
        let store = try TestStore(path, StoreReplica(path))
        #expect(try store.rows("PRAGMA integrity_check") == [["ok"]], comment)
        #expect(try store.rows("PRAGMA foreign_key_check").isEmpty, comment)
        let merged = try store.replica.vector[a.replica.replicaID]
        let rows = try store.rows("SELECT count(*) FROM item WHERE text LIKE 'w%'")
        let expected = try a.rows(
            "SELECT coalesce(sum(added), 0) FROM progress WHERE number <= \(merged)")
        #expect(rows == expected, comment)
        let history = try store.rows(
            "SELECT count(origin) - count(DISTINCT origin) FROM syncd_transaction")
        #expect(history == [[0]], comment)
        if isComplete {
            let all = "SELECT text, rank FROM item ORDER BY 1, 2"
            #expect(try store.rows(all) == a.rows(all), comment)
        }
        try store.replica.close()
    }

    /// Transactions that add rows, with a table of its own that says how many.
    private func write(_ a: TestStore, transactions: Int) throws {
        try a.run("CREATE TABLE progress(number INTEGER, added INTEGER)")
        for number in 0..<transactions {
            try a.run("BEGIN")
            for row in 0..<10 {
                try a.run(
                    "INSERT INTO item(text, rank, owner) VALUES ('w\(number)-\(row)', \(row), 1)")
            }
            try a.run("UPDATE owner SET name = 'ann\(number)' WHERE id = 1")
            try a.run("INSERT INTO progress SELECT max(seq), 10 FROM syncd_log")
            try a.run("COMMIT")
        }
    }

    private func copyOfB(_ name: String) throws -> String {
        let path = folder.file(name + ".db")
        try FileManager.default.copyItem(atPath: folder.file("b.db"), toPath: path)
        return path
    }

    private func start(_ path: String, killAt statement: Int? = nil) throws -> (Process, Pipe) {
        let process = Process()
        let tool = try #require(
            [Self.tool, Self.besideTests].first { FileManager.default.isExecutableFile(atPath: $0) }
        )
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments =
            ["apply", path, folder.file("batches")]
            + (statement.map { ["--kill-at", "\($0)"] } ?? [])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    /// Merges all batches; returns how many statements that took, or nil where the process was
    /// killed at one.
    private func apply(to path: String, killedAt statement: Int? = nil) throws -> Int? {
        let (process, output) = try start(path, killAt: statement)
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if statement != nil, process.terminationReason == .uncaughtSignal {
            #expect(process.terminationStatus == SIGKILL)
            return nil
        }
        #expect(process.terminationStatus == 0)
        return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
            .first
    }

    private func kill(_ path: String, after seconds: Double) throws {
        let (process, _) = try start(path)
        Thread.sleep(forTimeInterval: seconds)
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
