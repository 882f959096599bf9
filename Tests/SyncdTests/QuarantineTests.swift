import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncTesting
import Testing

@testable import syncd

/// A store that fails again and again, or over which the daemon crashes, is left alone.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: getuid() == 0, "only root can give files away"))
struct QuarantineTests {
    private static let bob: UInt32 = 2001

    private func makeDaemon() async throws -> (TestDaemon, victim: String, store: String) {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        let victim = try await daemon.makeStore("victim.db")
        mkdir(daemon.directory.file("bob"), 0o755)
        let store = try await daemon.makeStore("bob/x.db", rows: 2000)
        give(store)
        try await daemon.give(store, to: Self.bob)
        chown(daemon.directory.file("bob"), Self.bob, Self.bob)
        return (daemon, victim, store)
    }

    private func give(_ store: String) {
        for ending in ["", "-wal", "-shm"] { chown(store + ending, Self.bob, Self.bob) }
    }

    private func error(of store: String, _ daemon: TestDaemon) async throws -> String {
        try await daemon.client.list().first { $0.path == store }?.error?.reason ?? ""
    }

    private func expectService(_ daemon: TestDaemon, of store: String) async throws {
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let before = seen.transactions.count
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('x')")
        try await eventually("a notice") { seen.transactions.count > before }
    }

    /// The ways back: another file, or that somebody asks for it.
    enum Way: CaseIterable { case otherFile, asking }

    @Test(arguments: Way.allCases)
    func aDamagedStoreIsLeftAloneAndComesBack(_ way: Way) async throws {
        let (daemon, victim, store) = try await makeDaemon()
        #expect(daemon.stop() == 0)
        try sqlite3(store, "PRAGMA wal_checkpoint(TRUNCATE)")
        let whole = try Data(contentsOf: URL(fileURLWithPath: store))
        // All pages but the first are garbage.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: store))
        try handle.seek(toOffset: 4096)
        try handle.write(contentsOf: Data(repeating: 0x55, count: whole.count - 4096))
        try handle.close()
        // Its owner changes it all the time: each change used to be a reason to try again.
        let bob = try OtherUser(
            Self.bob,
            """
            say("ready")
            while True: os.utime(sys.argv[2]); time.sleep(0.05)
            """, daemon, [store])
        try await bob.prints("ready")
        try await daemon.start()
        try await eventually("it is left alone: \(daemon.log)") {
            try await error(of: store, daemon).contains("the daemon leaves the store alone")
        }
        #expect(try await error(of: store, daemon).contains("and tries again in "))
        do {
            _ = try await daemon.client.head(store)
            Issue.record("it was answered")
        } catch let error as SyncError {
            #expect(error.hint?.contains("synctool track DB") == true, "\(error)")
        }
        try await expectService(daemon, of: victim)
        try await daemon.logs("error: left alone after", times: 1)
        switch way {
        case .otherFile:
            try whole.write(to: URL(fileURLWithPath: store + ".new"))
            chown(store + ".new", Self.bob, Self.bob)
            #expect(rename(store + ".new", store) == 0)
        case .asking:
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: store))
            try handle.write(contentsOf: whole)
            try handle.close()
            _ = try await daemon.client.track(store)
        }
        try await eventually("it is served: \(daemon.log)", seconds: 20) {
            (try? await daemon.client.head(store)) != nil
        }
        try await daemon.logs("recovered: the store is served again")
        #expect(daemon.stop() == 0)
    }

    /// Ends the daemon while it is at work on bob's store, for whom it waits.
    private func crash(_ daemon: TestDaemon, over store: String) async throws {
        chmod(daemon.socket, 0o666)
        let bob = try OtherUser(
            Self.bob,
            """
            lock = sqlite3.connect(sys.argv[2], isolation_level=None, timeout=30)
            lock.execute("BEGIN IMMEDIATE")
            say("ready")
            while True: Daemon(sys.argv[1]).call("RegisterConsumer", store=sys.argv[2], name="c")
            """, daemon, [store])
        try await bob.prints("ready")
        let file = URL(fileURLWithPath: daemon.directory.file("state/workers/\(Self.bob)/working"))
        try await eventually("it is at work on the store") {
            // The worker of the store's new owner may not be there yet.
            guard let data = try? Data(contentsOf: file) else { return false }
            return try data.range(of: Data(store.utf8)) != nil && isAtWork(file)
        }
        daemon.kill9()
    }

    /// Whether a slot has been taken for half a second.
    private func isAtWork(_ file: URL) throws -> Bool {
        func taken() throws -> [Int] {
            let bytes = [UInt8](try Data(contentsOf: file))
            return stride(from: 64, to: bytes.count - 1, by: 2 + Int(PATH_MAX)).filter {
                bytes[$0] != 0 || bytes[$0 + 1] != 0
            }
        }
        let before = try taken()
        usleep(500_000)
        return try !before.isEmpty && taken() == before
    }

    @Test func aStoreOverWhichTheDaemonCrashesTwiceIsLeftAlone() async throws {
        let (daemon, victim, store) = try await makeDaemon()
        try await crash(daemon, over: store)
        try await daemon.start()
        _ = try await daemon.client.head(store)
        try await crash(daemon, over: store)
        try await daemon.start()
        let reason = try await error(of: store, daemon)
        #expect(reason.contains("ended 2 times in a row while it was at work"), "\(reason)")
        try await daemon.logs("error: left alone: the daemon ended 2 times in a row")
        try await expectService(daemon, of: victim)
        // Its owner cannot have it tried: that may end the daemon again.
        chmod(daemon.socket, 0o666)
        let bob = try OtherUser(
            Self.bob, #"say(Daemon(sys.argv[1]).call("Track", path=sys.argv[2])); say("done")"#,
            daemon, [store])
        try await bob.prints("done")
        #expect(bob.lines.first?.contains("ended 2 times in a row") == true, "\(bob.lines)")
        // An ordinary restart changes nothing, the administrator does.
        #expect(daemon.stop() == 0)
        try await daemon.start()
        #expect(try await error(of: store, daemon).contains("2 times in a row"))
        _ = try await daemon.client.track(store)
        #expect(try await error(of: store, daemon).isEmpty)
        #expect(daemon.stop() == 0)
        try await daemon.start()
        _ = try await daemon.client.head(store)
    }
}
