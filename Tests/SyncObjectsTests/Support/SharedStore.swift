import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Synchronization
import Testing

@testable import SyncObjects

/// What becomes of syncd while a test runs.
enum DaemonFate: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case up, down, restarted

    var testDescription: String { "daemon \(rawValue)" }
}

/// A tracked store that this process has open in contexts, and that others write: with syncd beside
/// it, without, or with one that is killed and started again in the middle.
final class SharedStore: Sendable {
    let folder: TemporaryFolder
    let container: PersistentContainer
    let context: ManagedObjectContext
    let path: String
    private let socket: String
    private let fate: DaemonFate
    private let daemon = Mutex<OtherProcess?>(nil)
    private let writes = Mutex(0)

    init(_ fate: DaemonFate, _ model: ManagedObjectModel? = nil) async throws {
        self.fate = fate
        folder = try TemporaryFolder()
        container = try folder.container("store.sqlite", try model ?? TodoModel.make())
        context = try container.newBackgroundContext(author: "me")
        path = folder.file("store.sqlite").path
        socket = folder.path + "/s.sock"
        _ = try Store.track(path)
        if fate != .down { try await startDaemon() }
    }

    deinit { container.close() }

    var client: StoreClient { StoreClient(socket: socket) }

    /// Follows the store; if a daemon runs, waits until it sends notices.
    func follow() async throws {
        try container.followExternalChanges(through: client)
        if fate != .down { try await waitForDaemon() }
    }

    func waitForDaemon() async throws {
        let isThere = await eventually {
            (try? self.container.coordinator.following.source) == .daemon
        }
        try #require(isThere, "the daemon sends no notices")
    }

    func startDaemon() async throws {
        let state = folder.url.appendingPathComponent("state").path
        let config: URL = folder.file("syncd.yaml")
        try Data().write(to: config)
        let process = try OtherProcess(
            OtherProcess.product("syncd"),
            ["--user", "--socket", socket, "--state", state, "--config", config.path])
        daemon.withLock { $0 = process }
        let isTracked = await eventually { [client, path] in
            (try? await client.track(path)) != nil
        }
        try #require(isTracked, "syncd does not answer")
    }

    func killDaemon() async {
        let process = daemon.withLock { daemon in
            defer { daemon = nil }
            return daemon
        }
        await process?.kill()
    }

    /// Writes as another process: `sqlite3` and Python take turns. Where the daemon's fate is to be
    /// restarted, it is killed: before the write, or right after it.
    func write(_ sql: String) async throws {
        let number = writes.withLock { writes in
            writes += 1
            return writes
        }
        if fate == .restarted, number % 2 == 1 { await killDaemon() }
        let status = try await Self.run(path, sql, usesPython: number % 2 == 0)
        #expect(status == 0, "\(sql)")
        if fate == .restarted {
            await killDaemon()
            try await startDaemon()
        }
    }

    /// One process that runs a script and ends.
    @discardableResult
    static func run(_ path: String, _ sql: String, usesPython: Bool) async throws -> Int32 {
        if usesPython {
            return try await python(
                path, "c.execute('PRAGMA foreign_keys = ON'); c.executescript(sys.argv[2])", sql)
        }
        return try await OtherProcess(
            "/usr/bin/sqlite3",
            [
                "-bail", "-cmd", ".timeout 20000", "-cmd", "PRAGMA foreign_keys = ON", path, sql,
            ]
        ).status()
    }

    /// A Python process with a connection `c`.
    @discardableResult
    static func python(_ path: String, _ code: String, _ argument: String = "") async throws
        -> Int32
    {
        try await OtherProcess(
            "/usr/bin/python3",
            [
                "-c",
                "import sqlite3, sys, os, signal\n"
                    + "c = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)\n" + code,
                path, argument,
            ]
        ).status()
    }

    // MARK: Objects

    func add(_ title: String, _ group: TodoGroup? = nil, priority: Int = 0) throws -> TodoTask {
        let task = try TodoTask(context: context)
        task.title = title
        task.priority = priority
        task.group = group
        return task
    }

    /// Waits until a condition holds that others' commits bring about.
    func expectEventually(
        _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation,
        _ condition: () throws -> Bool
    ) async throws {
        let holds = try await eventually(within: .seconds(8)) { try condition() }
        let state = try container.coordinator.following
        try #require(holds, comment ?? "\(state)", sourceLocation: location)
    }
}

extension ManagedObject {
    /// Why the object is gone; nil while it is there.
    var gone: Gone? {
        if case .gone(let gone) = state { return gone }
        return nil
    }
}
