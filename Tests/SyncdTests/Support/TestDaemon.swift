import Foundation
import SyncClient
import SyncTesting
import Synchronization

/// A real syncd with a folder, socket and state of its own; killed with its owner.
final class TestDaemon: Sendable {
    let directory: TemporaryFolder
    private let arguments: [String]
    private let environment: [String: String]
    /// Whose process it is; nil: this user's.
    private let user: UInt32?
    private let process = Mutex<Process?>(nil)

    var socket: String { directory.file("syncd.sock") }
    var client: StoreClient { StoreClient(socket: socket) }
    var pid: Int32 { process.withLock { $0?.processIdentifier ?? 0 } }

    init(
        _ arguments: [String] = [], in directory: TemporaryFolder? = nil,
        user: UInt32? = nil, environment: [String: String] = [:]
    ) async throws {
        (self.environment, self.user) = (environment, user)
        self.directory = try directory ?? TemporaryFolder()
        self.arguments = arguments
        try await start()
    }

    deinit { process.withLock { $0 }?.terminateForGood() }

    /// The arguments of a daemon in `directory`.
    static func arguments(_ directory: TemporaryFolder) -> [String] {
        [
            "--user", "--socket", directory.file("syncd.sock"), "--state",
            directory.file("state"), "--config", directory.file("syncd.yaml"),
        ]
    }

    func start() async throws {
        let configuration = directory.file("syncd.yaml")
        if !FileManager.default.fileExists(atPath: configuration) {
            try "".write(toFile: configuration, atomically: true, encoding: .utf8)
        }
        let new = Process()
        new.executableURL = Programs.syncd
        new.arguments = Self.arguments(directory) + arguments
        if let user {
            chown(directory.path, user, user)
            new.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            new.arguments =
                [
                    "--reuid", "\(user)", "--regid", "\(user)", "--clear-groups",
                    Programs.syncd.path,
                ] + (new.arguments ?? [])
        }
        new.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        new.standardInput = FileHandle.nullDevice
        let log = directory.file("log")
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        let errors = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try errors.seekToEnd()
        new.standardError = errors
        defer { try? errors.close() }
        try new.run()
        process.withLock { $0 = new }
        try await eventually("the daemon serves; log: \(self.log)") {
            guard new.isRunning else { throw Failure("the daemon ended: \(self.log)") }
            return (try? await client.list()) != nil
        }
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// kill -9, and waits for its end.
    func kill9() {
        process.withLock { process in
            process?.terminateForGood()
            process = nil
        }
    }

    /// SIGTERM, and waits for its end.
    func stop() -> Int32 {
        let running = process.withLock { process in
            defer { process = nil }
            return process
        }
        running?.terminate()
        running?.waitUntilExit()
        return running?.terminationStatus ?? -1
    }

    var isRunning: Bool { process.withLock { $0?.isRunning ?? false } }

    var log: String {
        (try? String(contentsOfFile: directory.file("log"), encoding: .utf8)) ?? ""
    }

    /// Waits until the journal has the words: a line may come a moment after what it is about was seen.
    ///
    /// - Parameter times: how often, exactly; at least once without it.
    func logs(_ words: String, times: Int? = nil) async throws {
        try await eventually("in the log: '\(words)'\n\(log)") {
            let count = log.components(separatedBy: words).count - 1
            return times.map { count == $0 } ?? (count > 0)
        }
    }

    /// Gives a tracked database to another user, and waits until that user's worker serves it.
    func give(_ store: String, to owner: UInt32) async throws {
        chown(store, owner, owner)
        try await eventually("a worker serves it: \(store)") {
            let isMoved = log.split(separator: "\n").contains {
                $0.contains("another owner now") && $0.contains("owner=\(owner) ")
                    && $0.hasSuffix("store=\(store)")
            }
            guard isMoved else { return false }
            return (try? await client.head(store)) != nil
        }
    }

    /// A tracked database with two tables.
    func makeStore(_ name: String = "music.db", rows: Int = 0) async throws -> String {
        let path = directory.file(name)
        try sqlite3(
            path,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
            CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT,
              ArtistId INTEGER REFERENCES Artist ON DELETE CASCADE);
            INSERT INTO Artist VALUES (1, 'Alice');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO Album SELECT i, 'Title ' || i, 1 FROM n WHERE \(rows) > 0;
            """)
        _ = try await client.track(path)
        return path
    }
}

extension Process {
    func terminateForGood() {
        if isRunning { kill(processIdentifier, SIGKILL) }
        waitUntilExit()
    }
}
