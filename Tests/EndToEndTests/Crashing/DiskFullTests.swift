import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// The disk is full in the middle of a writer's transaction, of a digest and of a purge: nothing is
/// lost, nothing is half there, and all goes on by itself when there is space again.
@Suite("Disk full", .serialized, .timeLimit(.minutes(5)))
struct DiskFullTests {
    @Test func aTransactionThatDoesNotFitIsInHistoryNoMoreThanInTheTable() async throws {
        try await World.with { world in
            try await world.disk.fill()
            let failed = try await world.insert(transactions: 400, rows: 10)
            #expect(failed.text.contains("full"), "\(failed.text)\(failed.errors)")
            try await world.expectHistoryEqualsTheTable()
            try await world.disk.free()
            let written = try await world.insert(transactions: 5, rows: 10)
            #expect(written.text.contains("all written"), "\(written.text)\(written.errors)")
            try await world.expectHistoryEqualsTheTable()
            try await world.expectDigested()
            try await world.expectHistoryEqualsTheTable()
        }
    }

    @Test func aDigestThatDoesNotFitIsMadeLaterByItself() async throws {
        try await World.with { world in
            // The log grows while the daemon sleeps; the pinned WAL has to grow for the digest.
            world.signalDaemon(SIGSTOP)
            let written = try await world.insert(transactions: 60, rows: 5)
            #expect(written.text.contains("all written"), "\(written.text)\(written.errors)")
            let pin = try await world.pin()
            try await world.disk.fill()
            world.signalDaemon(SIGCONT)
            try await Task.sleep(for: .seconds(2))
            #expect(try await world.logRows() > 1, "it was digested on a full disk")
            let words = "the log cannot be moved into the history: no space left"
            let isNamed = try await eventually(within: .seconds(60), every: .milliseconds(200)) {
                let check = try await world.scene.tool("status", "--check")
                return check.status == 1 && check.text.contains(words)
            }
            #expect(isNamed, "nobody is told")
            #expect(try await world.scene.tool("doctor").text.contains(words))
            #expect(try await world.scene.tool("status").text.contains(words))
            try await world.expectHistoryEqualsTheTable()
            try await world.disk.free()
            await pin.stop()
            // Nobody commits anything: the daemon tries again.
            try await world.expectDigested()
            let isOver = try await eventually(within: .seconds(60), every: .milliseconds(200)) {
                try await world.scene.tool("status", "--check").status == 0
            }
            #expect(isOver, "it is named still")
            try await world.expectHistoryEqualsTheTable()
        }
    }

    @Test func aPurgeThatDoesNotFitIsWholeAfterwards() async throws {
        try await World.with { world in
            _ = try await world.insert(transactions: 200, rows: 2)
            try await world.expectDigested()
            let all = try await world.history()
            let middle = try #require(all.dropFirst(all.count / 2).first)
            // A checkpointed WAL would be written over from its start: it has to grow.
            try await world.disk.run(
                Binaries.sqlite3, world.database, "PRAGMA wal_checkpoint(TRUNCATE)"
            ).expectSuccess()
            let pin = try await world.pin()
            try await world.disk.fill()
            let failed = try await world.scene.tool(
                "purge", world.database, "--before", middle.token)
            #expect(failed.status == 75, "\(failed.text)\(failed.errors)")
            #expect(failed.errors.contains("no space"), "\(failed.errors)")
            // Nothing is half there: a position is whole, or it is refused.
            let rest = try await world.scene.tool(
                "history", world.database, "--json", "--after", all[0].token)
            if rest.status == 0 {
                #expect(Recorded.all(rest.text) == Array(all.dropFirst()))
            } else {
                #expect(rest.errors.contains("purged"), "\(rest.errors)")
            }
            try await world.disk.free()
            await pin.stop()
            try await world.scene.tool("purge", world.database, "--before", middle.token)
                .expectSuccess()
            #expect(try await world.history() == Array(all.drop { $0.number < middle.number }))
        }
    }
}

/// A daemon on a small disk, and one table.
private final class World: Sendable {
    let scene: Scene
    let disk: SmallDisk
    let database: String
    private let daemon: Child
    private let daemonPid: Int32

    static func with(_ body: (World) async throws -> Void) async throws {
        try await Scene.with { scene in
            let disk = try await SmallDisk(scene, megabytes: 4)
            do {
                let world = try await World(scene, disk)
                do { try await body(world) } catch {
                    await world.daemon.stop()
                    throw error
                }
                await world.daemon.stop()
            } catch {
                await disk.stop()
                throw error
            }
            await disk.stop()
        }
    }

    private init(_ scene: Scene, _ disk: SmallDisk) async throws {
        self.scene = scene
        self.disk = disk
        database = disk.path + "/small.db"
        let made = try await disk.run(
            Binaries.sqlite3, database,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE item(id INTEGER PRIMARY KEY, pad TEXT);
            """)
        try made.expectSuccess()
        daemon = try disk.start(Binaries.syncd, "--user")
        // nsenter becomes the daemon: same process.
        daemonPid = daemon.pid
        let client = StoreClient(socket: scene.socket)
        let database = database
        var isTracked = false
        for _ in 0..<200 where !isTracked {
            isTracked = (try? await client.track(database)) != nil
            if !isTracked { try await Task.sleep(for: .milliseconds(50)) }
        }
        client.close()
        try #require(isTracked, "\(daemon.errors)")
    }

    func signalDaemon(_ signal: Int32) { kill(daemonPid, signal) }

    /// Commits until done or until something fails; prints what.
    func insert(transactions: Int, rows: Int) async throws -> Child.Output {
        let script = """
            import sqlite3, sys
            connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
            try:
                for _ in range(int(sys.argv[2])):
                    connection.execute("BEGIN IMMEDIATE")
                    for row in range(int(sys.argv[3])):
                        connection.execute("INSERT INTO item(pad) VALUES (?)", ("x" * 500,))
                    connection.execute("UPDATE item SET pad = 'u' WHERE id = "
                                       "(SELECT max(id) FROM item)")
                    connection.execute("COMMIT")
                print("all written")
            except sqlite3.Error as error:
                print(error)
            """
        return try await disk.run(
            Binaries.plainPython, "-c", script, database, "\(transactions)", "\(rows)")
    }

    /// A reader that keeps the WAL from being used again.
    func pin() async throws -> Child {
        let script = """
            import sqlite3, sys, time
            connection = sqlite3.connect(sys.argv[1], isolation_level=None)
            connection.execute("BEGIN")
            print(connection.execute("SELECT count(*) FROM item").fetchone(), flush=True)
            time.sleep(300)
            """
        let child = try disk.start(Binaries.plainPython, "-c", script, database)
        let reads = await eventually(within: .seconds(20)) { child.text.contains("(") }
        try #require(reads, "\(child.errors)")
        return child
    }

    func history() async throws -> [Recorded] {
        Recorded.all(try await scene.tool("history", database, "--json").expectSuccess().text)
    }

    private func integers(_ sql: String) async throws -> [Int] {
        let output = try await disk.run(
            Binaries.sqlite3, "-cmd", ".timeout 20000", "-readonly", database, sql)
        return try output.expectSuccess().text.split(separator: "\n").compactMap { Int($0) }
    }

    func logRows() async throws -> Int {
        try await integers("SELECT count(*) FROM syncd_log").first ?? 0
    }

    /// Every row of the table was inserted once, and nothing else was.
    func expectHistoryEqualsTheTable() async throws {
        let ids = try await integers("SELECT id FROM item ORDER BY id")
        let history = try await history()
        let inserted = history.flatMap(\.changes).filter { $0.kind == "insert" }.map(\.object)
        #expect(inserted == ids.map { "item/\($0)" })
        #expect(history.allSatisfy { !$0.flags.contains("coalesced") })
    }

    /// The daemon has moved everything into the history tables, all but the newest row.
    func expectDigested() async throws {
        let isDigested = try await eventually(within: .seconds(30), every: .milliseconds(100)) {
            try await logRows() == 1
        }
        #expect(isDigested, "\(daemon.errors)")
    }
}
