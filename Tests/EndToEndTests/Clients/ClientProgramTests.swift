import Foundation
import SyncClient
import SyncTesting
import Testing
import Varlink

/// Programs with nothing but the standard library of their language: each gets each commit once, in
/// order, though the daemon and they themselves are killed.
@Suite("Clients in other languages", .serialized, .timeLimit(.minutes(15)))
struct ClientProgramTests {
    private static let database = "shop.db"
    private static let kills = 4

    /// Inserts a row in each commit, and many in some, until the file `stop` is there.
    private static let writer = """
        import os, sqlite3, sys, time
        connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        number = 1
        while not os.path.exists("stop"):
            number += 1
            connection.execute("INSERT INTO item VALUES (?, 'one')", (number,))
            if number % 60 == 0:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(
                    "INSERT INTO item VALUES (?, 'many')",
                    ((number * 100000 + each,) for each in range(1500)))
                connection.execute("COMMIT")
            time.sleep(0.004)
        """

    private func makeStore(_ scene: Scene) async throws {
        try await scene.sql(
            Self.database,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO item VALUES (1, 'held');
            """)
        try await scene.tool("track", Self.database).expectSuccess()
    }

    @Test(arguments: ClientProgram.allCases)
    func followsEachCommitOnceInOrder_whileTheDaemonIsKilled(program: ClientProgram) async throws {
        try await Scene.with { scene in
            var daemon = try await scene.startDaemon()
            try await makeStore(scene)
            let client = try await ClientRun(
                program, of: Self.database, holding: ["item/1"], in: scene)
            var writer: Child?
            do {
                try await client.start()
                try await client.wait { $0.token != nil }
                let began = await client.log.token
                try await scene.sql(Self.database, "UPDATE item SET name = 'new' WHERE id = 1")
                writer = try scene.start(Binaries.plainPython, "-c", Self.writer, Self.database)
                for kill in 1...Self.kills {
                    try await client.wait(forMore: 20)
                    await daemon.stop()
                    // In one round the client is killed, too, and misses commits.
                    if kill == 2 { await client.kill() }
                    daemon = try await scene.startDaemon()
                    if kill == 2 { try await client.start() }
                }
                try await scene.sql(
                    scene.folder.path(Self.database), "DELETE FROM item WHERE id = 1")
                try Data().write(to: scene.folder.url.appendingPathComponent("stop"))
                let ended = try await writer?.output()
                try #require(ended?.status == 0, "\(ended?.errors ?? "")")
                try await compare(client, with: scene, after: try #require(began))
            } catch {
                await writer?.stop()
                await client.kill()
                await daemon.stop()
                throw error
            }
            await client.kill()
            await daemon.stop()
        }
    }

    private func compare(
        _ client: ClientRun, with scene: Scene, after began: String
    ) async throws {
        let history = Recorded.all(
            try await scene.run([
                "history", Self.database, "--json", "--socket", scene.socket, "--after", began,
            ]).expectSuccess().text)
        let last = history.last?.number
        try await client.wait { $0.transactions.last?.number == last }
        let got = await client.log.transactions
        #expect(got.map(\.number) == history.map(\.number))
        #expect(got == history)
        let inserted = got.flatMap(\.changes).filter { $0.kind == "insert" }.map(\.object)
        let rows = try await scene.sql(Self.database, "SELECT 'item/' || id FROM item")
        #expect(Set(inserted).count == inserted.count, "a row was reported twice")
        #expect(Set(inserted) == Set(rows.split(separator: "\n").map(String.init)))
        // Through restarts, what it holds is held: each notice came once.
        let isPrinted = await eventually { await client.text.contains("gone") }
        #expect(isPrinted)
        #expect(await client.text == "changed item/1\ngone item/1\n")
    }

    /// The one that uses a library: `Examples/python`.
    @Test func theFollowerBeginsWhereItWasStarted_thoughItIsKilledBeforeAnyCommit() async throws {
        try await Scene.with { scene in
            let daemon = try await scene.startDaemon()
            let log = scene.folder.path("python.log")
            func lines() -> [Substring] {
                ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
            }
            func follow() throws -> Child {
                try scene.start(Binaries.python, Binaries.follower, Self.database, log)
            }
            var follower: Child?
            do {
                try await makeStore(scene)
                follower = try follow()
                let hasBegun = await eventually(within: .seconds(60)) { !lines().isEmpty }
                try #require(hasBegun, "\(follower?.errors ?? "")")
                await follower?.stop()
                try await scene.sql(Self.database, "INSERT INTO item VALUES (2, 'meanwhile')")
                follower = try follow()
                let isTold = await eventually(within: .seconds(60)) {
                    Recorded.all(lines().joined(separator: "\n")).contains {
                        $0.changes.map(\.object) == ["item/2"]
                    }
                }
                #expect(isTold, "\(lines()) \(follower?.errors ?? "")")
            } catch {
                await follower?.stop()
                await daemon.stop()
                throw error
            }
            await follower?.stop()
            await daemon.stop()
        }
    }

    @Test(arguments: ClientProgram.allCases)
    func listsStores_andExplainsErrors(program: ClientProgram) async throws {
        try await Scene.with { scene in
            let client = try await ClientRun(program, of: Self.database, holding: [], in: scene)
            let away = try await client.output([])
            #expect(away.status == 1)
            #expect(away.errors.hasPrefix("unreachable: \(scene.socket): "))
            #expect(away.errors.contains("Start it: "))

            let daemon = try await scene.startDaemon()
            do {
                try await makeStore(scene)
                let listed = try await client.output([])
                #expect(
                    listed.text.trimmingCharacters(in: .whitespacesAndNewlines)
                        == "\(scene.folder.path(Self.database)) open")
                let unknown = try await client.output(["none.db", "none.log"])
                #expect(unknown.status == 1)
                #expect(unknown.errors.hasPrefix("unknownStore: "))
                try await expectExpiry(client, scene)
            } catch {
                await client.kill()
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }

    /// A client whose position was purged says so, and what to do.
    private func expectExpiry(_ client: ClientRun, _ scene: Scene) async throws {
        try await client.start()
        try await client.wait { $0.token != nil }
        await client.kill()
        for row in 2...4 {
            try await scene.sql(Self.database, "INSERT INTO item VALUES (\(row), 'later')")
        }
        try await scene.tool("purge", Self.database).expectSuccess()
        let expired = try await client.output([Self.database, client.log.url.path])
        #expect(expired.status == 1)
        #expect(expired.errors.hasPrefix("historyExpired: "))
        #expect(expired.errors.contains("begin a new file"))
    }

    /// The file that gets installed, what the daemon introspects, and the table of errors are one.
    @Test func theInterfaceFileIsWhatTheDaemonIntrospects() async throws {
        let file = try String(
            contentsOf: Binaries.root.appendingPathComponent(
                "Sources/SyncClient/Interface/org.syncd.Store.varlink"), encoding: .utf8)
        try await Scene.with { scene in
            let daemon = try await scene.startDaemon()
            do {
                let client = try await VarlinkClient.connect(
                    to: try VarlinkAddress("unix:\(scene.socket)"))
                let answer = try await client.call(
                    "org.varlink.service.GetInterfaceDescription",
                    with: ["interface": .string(StoreInterface.name)])
                #expect(answer["description"]?.string == file)
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
        let errors = try Interface(parsing: file).errors.map(\.name)
        #expect(errors == ErrorTable.rows.map(\.error))
    }
}
