import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// What a store does to the process that serves it takes nothing from the stores of other users:
/// with files of real users, served by processes of their own.
@Suite(
    .serialized, .timeLimit(.minutes(3)),
    .enabled(if: getuid() == 0, "only root can give files away"))
struct WorkerTests {
    static let bob: UInt32 = 2001
    static let alice: UInt32 = 2002

    /// How long alice's calls may take while bob's worker ends. On a quiet machine they take
    /// milliseconds; a call that waited for that worker would take ten seconds.
    private static let limit = Duration.seconds(8)

    /// The slowest of the calls about a store until `body` ends.
    private func slowestCall(
        about store: String, of daemon: TestDaemon, while body: () async throws -> Void
    ) async throws -> Duration {
        let client = daemon.client
        let measuring = Task {
            var slowest = Duration.zero
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do {
                    _ = try await client.head(store)
                } catch is CancellationError {
                    break
                }
                slowest = max(slowest, .now - start)
                try? await Task.sleep(for: .milliseconds(5))
            }
            return slowest
        }
        do {
            try await body()
        } catch {
            measuring.cancel()
            throw error
        }
        measuring.cancel()
        return try await measuring.value
    }

    private func insert(_ count: Int, into store: String) throws {
        for _ in 0..<count { try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('x')") }
    }

    /// `ps` shows them to every user; `synctool config` is for root and the daemon's user.
    @Test func theArgumentsOfAWorkerSayNothingOfTheConfiguration() async throws {
        let scene = try await WorkerScene()
        let children = try WorkerScene.children(of: scene.daemon)
        #expect(children.count == 2)
        for child in children {
            let owner = child.arguments.last ?? ""
            #expect(child.arguments.dropFirst() == ["worker", "--owner", owner])
            let environment =
                (try? String(contentsOfFile: "/proc/\(child.pid)/environ", encoding: .utf8)) ?? ""
            #expect(!environment.contains("answerSeconds"))
        }
        #expect(scene.daemon.stop() == 0)
    }

    @Test func aKilledWorkerTakesNothingFromOthers() async throws {
        let scene = try await WorkerScene()
        let (bobs, alices) = (scene.bobs[0], scene.alices)
        let (bob, alice) = (
            Collector(scene.daemon.client.subscribe(bobs)),
            Collector(scene.daemon.client.subscribe(alices))
        )
        try await bob.begun()
        try await alice.begun()
        let other = try scene.worker(of: Self.alice)
        let slowest = try await slowestCall(about: alices, of: scene.daemon) {
            for round in 1...3 {
                let pid = try scene.worker(of: Self.bob)
                try insert(2, into: bobs)
                try insert(2, into: alices)
                kill(pid, SIGKILL)
                try insert(2, into: bobs)
                try insert(2, into: alices)
                try await eventually("another worker") {
                    try scene.workers(of: Self.bob).contains { $0 != pid }
                }
                try await eventually("each commit, round \(round): \(scene.daemon.log)") {
                    bob.objects.count >= round * 4 && alice.objects.count >= round * 4
                }
            }
        }
        #expect(slowest < Self.limit)
        // Object by object: each once, in order; nothing was told twice.
        let expected = (2...13).map { "Artist/\($0)" }
        #expect(bob.objects == expected)
        #expect(alice.objects == expected)
        #expect(bob.error == nil && alice.error == nil)
        #expect(try scene.worker(of: Self.alice) == other)
        #expect(scene.daemon.stop() == 0)
    }

    @Test(arguments: ["trap", "hang", "memory"])
    func aHostileStoreIsLeftAloneAndItsNeighbourComesBack(_ fault: String) async throws {
        let scene = try await WorkerScene()
        let (hostile, innocent) = (scene.bobs[0], scene.bobs[1])
        #expect(scene.daemon.stop() == 0)
        let daemon = try await TestDaemon(
            in: scene.daemon.directory, environment: ["SYNCD_FAULT": "\(fault):\(hostile)"])
        let alice = Collector(daemon.client.subscribe(scene.alices))
        try await alice.begun()
        let slowest = try await slowestCall(about: scene.alices, of: daemon) {
            try insert(3, into: scene.alices)
            try await eventually("it is left alone: \(daemon.log)") {
                do {
                    _ = try await daemon.client.head(hostile)
                    return false
                } catch let error as SyncError {
                    return error.reason.contains("ended 2 times in a row")
                }
            }
        }
        #expect(slowest < Self.limit, "\(daemon.log)")
        #expect(alice.objects == ["Artist/2", "Artist/3", "Artist/4"])
        let bob = Collector(daemon.client.subscribe(innocent))
        try await bob.begun()
        try insert(1, into: innocent)
        try await eventually("a notice") { bob.objects == ["Artist/2"] }
        let states = try await daemon.client.list().map { ($0.path, $0.state) }
        #expect(
            states.allSatisfy { $0.0 == hostile ? $0.1 == .failed : $0.1 == .open }, "\(states)")
        try await daemon.logs("another one is started", times: 2)
        #expect(daemon.stop() == 0)
    }

    @Test func aStoppedWorkerAnswersForNobodyElse() async throws {
        let scene = try await WorkerScene()
        let pid = try scene.worker(of: Self.bob)
        kill(pid, SIGSTOP)
        let id = try #require(try await scene.daemon.client.status(scene.alices).store.id)
        // As alice: a list, and a call by id, which asks the workers.
        let alice = try OtherUser(
            Self.alice,
            """
            start = time.monotonic()
            d = Daemon(sys.argv[1])
            paths = [s["path"] for s in json.loads(d.call("List"))["parameters"]["stores"]]
            say(*[p.rsplit("/", 2)[1] for p in paths])
            say("token" in d.call("Head", store=sys.argv[3]))
            say("in time" if time.monotonic() - start < 8 else time.monotonic() - start)
            """, scene.daemon, [scene.alices, "\(id)"])
        try await alice.prints("in time")
        #expect(alice.lines == ["alice", "True", "in time"])
        try await eventually("it is ended: \(scene.daemon.log)") {
            try scene.workers(of: Self.bob).allSatisfy { $0 != pid }
        }
        try await eventually("bob's store is served again") {
            (try? await scene.daemon.client.head(scene.bobs[0])) != nil
        }
        try await scene.daemon.logs("it did not answer within")
        #expect(scene.daemon.stop() == 0)
    }

    @Test func thereAreNoWorkersWithoutStoresOfOthers() async throws {
        let daemon = try await TestDaemon()
        _ = try await daemon.makeStore()
        #expect(try WorkerScene.children(of: daemon).isEmpty)
        let store = try await WorkerScene.makeStore("bob/0.db", owner: Self.bob, daemon)
        #expect(try WorkerScene.children(of: daemon).count == 1)
        _ = try await daemon.client.untrack(store)
        try await eventually("the worker ends: \(daemon.log)") {
            try WorkerScene.children(of: daemon).isEmpty
        }
        try await daemon.logs("ended a worker without stores")
        #expect(daemon.stop() == 0)
    }

    @Test func aKilledDaemonLeavesNoWorker() async throws {
        let scene = try await WorkerScene()
        let workers = try [scene.worker(of: Self.bob), scene.worker(of: Self.alice)]
        // One that does not run cannot end by itself.
        kill(workers[0], SIGSTOP)
        scene.daemon.kill9()
        try await eventually("they are gone") { workers.allSatisfy(WorkerScene.isGone) }
        try await scene.daemon.start()
        try await eventually("they are served again: \(scene.daemon.log)") {
            (try? await scene.daemon.client.head(scene.bobs[0])) != nil
        }
        #expect(scene.daemon.stop() == 0)
    }

    @Test func aStoreIsServedByTheProcessOfItsOwner() async throws {
        let scene = try await WorkerScene()
        let (daemon, store) = (scene.daemon, scene.bobs[0])
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        var count = 0
        for owner in [Self.alice, 0, Self.bob] {
            for ending in ["", "-wal", "-shm"] { chown(store + ending, owner, owner) }
            try await eventually("another process has it open: \(daemon.log)") {
                try insert(1, into: store)
                count += 1
                try await Task.sleep(for: .milliseconds(100))
                let has = try scene.processes(thatHaveOpen: store)
                return try has == [owner == 0 ? daemon.pid : scene.worker(of: owner)]
            }
        }
        try await eventually("each commit") { seen.objects.count >= count || seen.error != nil }
        #expect(seen.error == nil)
        #expect(seen.objects == (0..<count).map { "Artist/\($0 + 2)" })
        #expect(daemon.stop() == 0)
    }

    /// While a file passes from owner to owner, no call and no subscription is told that there is no
    /// such store.
    @Test(arguments: TestSeed.first(1))
    func aStoreIsNobodysInNoMoment(_ seed: TestSeed) async throws {
        let scene = try await WorkerScene()
        let (daemon, store) = (scene.daemon, scene.bobs[0])
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let calls = (0..<4).map { _ in
            Task { () throws -> Int in
                var count = 0
                while !Task.isCancelled {
                    do {
                        _ = try await daemon.client.head(store)
                        count += 1
                    } catch let error as SyncError where error.isTransient {
                        // It is being opened.
                    } catch is CancellationError {
                        break
                    }
                }
                return count
            }
        }
        var random = seed.random
        var (owner, count) = (Self.bob, 0)
        for _ in 0..<6 {
            owner =
                [Self.alice, 0, Self.bob].filter { $0 != owner }
                .randomElement(using: &random) ?? 0
            let next = owner
            for ending in ["", "-wal", "-shm"] { chown(store + ending, next, next) }
            try await eventually("another process has it open: \(daemon.log)") {
                try insert(1, into: store)
                count += 1
                let has = try scene.processes(thatHaveOpen: store)
                return try has == [next == 0 ? daemon.pid : scene.worker(of: next)]
            }
        }
        try await eventually("each commit") { seen.objects.count >= count || seen.error != nil }
        #expect(seen.error == nil)
        #expect(seen.objects == (0..<count).map { "Artist/\($0 + 2)" })
        for task in calls {
            task.cancel()
            #expect(try await task.value > 0)
        }
        #expect(daemon.stop() == 0)
    }

    @Test func theDaemonOpensNoFileOfAnotherUser() async throws {
        let scene = try await WorkerScene()
        let own = try await scene.daemon.makeStore("own.db")
        // Where a store of the daemon's own was, there is one of bob's.
        try await eventually("it rests, and leaves nothing beside it") {
            !FileManager.default.fileExists(atPath: own + "-wal")
        }
        rename(scene.bobs[0], own)
        for _ in 0..<200 {
            #expect(try !scene.processes(thatHaveOpen: own).contains(scene.daemon.pid))
            usleep(5_000)
        }
        try await eventually("bob's worker has it: \(scene.daemon.log)") {
            (try? await scene.daemon.client.status(own).store.state) == .open
        }
        #expect(scene.daemon.stop() == 0)
    }

    @Test func callsOfEveryKindPassThroughAWorker() async throws {
        let scene = try await WorkerScene()
        let (client, store) = (scene.daemon.client, scene.bobs[0])
        let id = try #require(try await client.status(store).store.id)
        let gate = Gate()
        let subscription = client.subscribe(store)
        let seen = Collector(subscription)
        let slow = Collector(client.subscribe("\(id)"), gate: gate)
        try await seen.begun()
        try await slow.begun()
        try await subscription.hold([ObjectName(path: "Artist/1")])
        try sqlite3(store, "DELETE FROM Artist WHERE ArtistId = 1")
        try await eventually("it is gone") { seen.heldNotices == ["gone Artist/1 direct"] }
        // Large replies, for a reader that does not read: the daemon's memory stays small.
        for _ in 0..<5 {
            try sqlite3(
                store,
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                INSERT INTO Artist(Name) SELECT hex(zeroblob(500)) FROM n; DELETE FROM Artist;
                """)
        }
        // Eleven, or fewer: commits that a checkpoint runs together are one.
        let head = try await client.head(store)
        try await eventually("the quick one") { seen.transactions.last?.token == head }
        gate.open()
        try await eventually("the slow one") { slow.transactions.last?.token == head }
        #expect(slow.transactions.map(\.number) == seen.transactions.map(\.number))
        let transactions = seen.transactions.count
        #expect(try await client.history("\(id)").count == transactions)
        #expect(try await client.count(store).transactions == transactions)
        _ = try await client.untrack(store)
        await #expect(throws: SyncError.self) { try await client.head(store) }
        #expect(seen.error != nil)
        #expect(scene.daemon.stop() == 0)
    }
}
