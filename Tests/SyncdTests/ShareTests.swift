import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

/// What one user has the daemon do takes nothing from another: with processes of real users.
///
/// The limits are far above what is measured on an idle machine (milliseconds) and below what the
/// work of the other user takes.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: getuid() == 0, "only root can be somebody else"))
struct ShareTests {
    private static let bob: UInt32 = 2001
    private static let alice: UInt32 = 2002
    /// The work of bob takes five seconds a piece and more.
    private static let limitSeconds = 2.5

    /// A daemon with stores of both users, in folders of theirs.
    private struct Scene {
        let daemon: TestDaemon
        let bobs: [String]
        let alices: String

        init(rows: Int = 0) async throws {
            daemon = try await TestDaemon()
            chmod(daemon.directory.path, 0o755)
            chmod(daemon.socket, 0o666)
            for (name, owner) in [("bob", ShareTests.bob), ("alice", ShareTests.alice)] {
                mkdir(daemon.directory.file(name), 0o755)
                chown(daemon.directory.file(name), owner, owner)
            }
            var bobs: [String] = []
            for index in 0..<8 {
                bobs.append(try await daemon.makeStore("bob/\(index).db", rows: rows))
            }
            alices = try await daemon.makeStore("alice/a.db")
            self.bobs = bobs
            for path in bobs + [alices] {
                let owner = path == alices ? ShareTests.alice : ShareTests.bob
                for ending in ["", "-wal", "-shm"] { chown(path + ending, owner, owner) }
                try await daemon.give(path, to: owner)
            }
        }
    }

    /// As alice: the longest answer of `Head` and the longest way of a notice, in seconds.
    private func measure(_ scene: Scene) async throws -> (head: Double, notice: Double) {
        let alice = try OtherUser(
            Self.alice,
            """
            store = sys.argv[2]
            feed = Daemon(sys.argv[1]); feed.send("Subscribe", more=True, store=store)
            first = feed.receive(); assert "subscription" in first, first
            db = sqlite3.connect(store, timeout=30, isolation_level=None)
            head = notice = 0
            for i in range(8):
                begin = time.monotonic()
                answer = Daemon(sys.argv[1]).call("Head", store=store)
                head = max(head, time.monotonic() - begin)
                assert "token" in answer, answer
                begin = time.monotonic()
                db.execute("INSERT INTO Artist(Name) VALUES (?)", ("x",))
                while '"transaction":' not in feed.receive(): pass
                notice = max(notice, time.monotonic() - begin)
                time.sleep(0.1)
            say("measured"); say(head); say(notice)
            """, scene.daemon, [scene.alices])
        try await alice.prints("measured")
        try await eventually("both figures") { alice.lines.count == 3 }
        return (Double(alice.lines[1]) ?? .infinity, Double(alice.lines[2]) ?? .infinity)
    }

    private func expectService(_ scene: Scene) async throws {
        let (head, notice) = try await measure(scene)
        #expect(head < Self.limitSeconds, "Head took \(head) s")
        #expect(notice < Self.limitSeconds, "a notice took \(notice) s")
    }

    @Test func callsThatWaitForLocksDelayTheirCallerAlone() async throws {
        let scene = try await Scene()
        let bob = try OtherUser(
            Self.bob,
            """
            stores = sys.argv[2:]
            locks = [sqlite3.connect(path, isolation_level=None) for path in stores]
            for lock in locks: lock.execute("BEGIN IMMEDIATE")
            def work(path):
                daemon = Daemon(sys.argv[1])
                while True: daemon.call("RegisterConsumer", store=path, name="c")
            for path in stores * 2: threading.Thread(target=work, args=(path,), daemon=True).start()
            time.sleep(0.5); say("ready"); time.sleep(600)
            """, scene.daemon, scene.bobs)
        try await bob.prints("ready")
        try await expectService(scene)
        #expect(bob.isRunning, "\(bob.lines)")
        #expect(scene.daemon.isRunning)
    }

    @Test func callsThatTakeLongDelayTheirCallerAlone() async throws {
        let scene = try await Scene()
        let bob = try OtherUser(
            Self.bob,
            """
            names = ["Artist/%d" % i for i in range(25000)]
            ready = threading.Semaphore(0)
            def work(path):
                feed = Daemon(sys.argv[1]); feed.send("Subscribe", more=True, store=path)
                name = json.loads(feed.receive())["parameters"]["subscription"]
                daemon = Daemon(sys.argv[1])
                ready.release()
                while True:
                    daemon.call("Hold", subscription=name, objects=names)
                    daemon.call("Release", subscription=name)
            for path in sys.argv[2:]:
                threading.Thread(target=work, args=(path,), daemon=True).start()
            for path in sys.argv[2:]: ready.acquire()
            time.sleep(0.5); say("ready"); time.sleep(600)
            """, scene.daemon, Array(scene.bobs.prefix(4)))
        try await bob.prints("ready")
        try await expectService(scene)
        #expect(bob.isRunning, "\(bob.lines)")
    }

    @Test func storesThatCannotBeOpenedDelayTheirOwnerAlone() async throws {
        let scene = try await Scene()
        #expect(scene.daemon.stop() == 0)
        for path in scene.bobs { try sqlite3(path, "PRAGMA journal_mode = DELETE") }
        let bob = try OtherUser(
            Self.bob,
            """
            locks = [sqlite3.connect(path, isolation_level=None) for path in sys.argv[2:]]
            for lock in locks: lock.execute("BEGIN EXCLUSIVE")
            say("ready")
            def work(path):
                while True:
                    try: Daemon(sys.argv[1]).call("Status", store=path)
                    except OSError: time.sleep(0.05)
            for path in sys.argv[2:]: threading.Thread(target=work, args=(path,), daemon=True).start()
            time.sleep(600)
            """, scene.daemon, scene.bobs)
        try await bob.prints("ready")
        try await scene.daemon.start()
        chmod(scene.daemon.socket, 0o666)
        try await expectService(scene)
        #expect(bob.isRunning, "\(bob.lines)")
        #expect(scene.daemon.stop() == 0)
    }
}
