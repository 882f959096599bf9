import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

/// `Overview`: what is counted, and for whom.
@Suite(.timeLimit(.minutes(5))) struct OverviewTests {
    private func overview(_ daemon: TestDaemon, _ store: String) async throws -> StoreOverview {
        let all = try await daemon.client.overview().stores
        return try #require(all.first { $0.store.path == store })
    }

    @Test func itCountsCommitsNoticesAndWhatWaits() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try await daemon.client.register(store, consumer: "index")
        let before = try await overview(daemon, store)
        for id in 1...3 { try sqlite3(store, "INSERT INTO Album VALUES (\(id), 't', 1)") }
        try await eventually("all is told") { seen.transactions.count == 3 }
        let after = try await overview(daemon, store)
        #expect(after.store.state == .open && after.store.subscribers == 1)
        #expect(after.traffic.notices == before.traffic.notices + 3)
        // What was read from the history by a client that had to catch up has no latency.
        #expect(after.traffic.latency.count <= after.traffic.notices)
        #expect((after.store.head?.number ?? 0) == (before.store.head?.number ?? 0) + 3)
        let contents = try #require(after.contents)
        let consumer = try #require(contents.consumers.first)
        #expect(after.behind(consumer) == after.store.head?.number)
        #expect(after.holdingBack(at: .now())?.name == "index")
        let process = try await daemon.client.overview().process
        #expect(process.clients >= 1 && process.memoryBytes > 1_000_000)
        #expect(!process.version.isEmpty)
    }

    /// Monitoring asks every few seconds: a store that rests has to stay at rest.
    @Test func aRestingStoreIsNotWoken() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        _ = try await overview(daemon, store)
        func isOpen() throws -> Bool {
            let folder = "/proc/\(daemon.pid)/fd"
            return try FileManager.default.contentsOfDirectory(atPath: folder).contains { name in
                let file = "\(folder)/\(name)"
                return (try? FileManager.default.destinationOfSymbolicLink(atPath: file)) == store
            }
        }
        // The first question after the digest may wake it once.
        try await eventually("it rests although it is asked about") {
            let isQuiet = try !isOpen()
            _ = try await overview(daemon, store)
            return try isQuiet && !isOpen()
        }
        for _ in 0..<20 { _ = try await overview(daemon, store) }
        #expect(try !isOpen())
        #expect(try await overview(daemon, store).contents?.pendingRows == 0)
    }

    private func tool(_ daemon: TestDaemon, _ arguments: String...) throws -> Ended {
        try run(
            Programs.synctool.path, arguments, environment: ["SYNCD_SOCKET": daemon.socket])
    }

    /// The next start would fail: somebody has to know before it.
    @Test func aReloadThatFailedIsShownUntilOneSucceeds() async throws {
        let daemon = try await TestDaemon()
        _ = try await daemon.makeStore()
        let file = daemon.directory.file("syncd.yaml")
        func reload(_ text: String) throws {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            daemon.signal(SIGHUP)
        }
        try reload("log: info\nstroes: []\n")
        try await eventually("it is known: \(daemon.log)") {
            try await daemon.client.overview().reloadFailure != nil
        }
        let place = file + ":2"
        let check = try tool(daemon, "status", "--check")
        #expect(check.status == 1 && check.output.contains("warning: the last reload"), "\(check)")
        for command in [["status"], ["status", "--check"], ["doctor"], ["metrics"], ["config"]] {
            let ended = try run(
                Programs.synctool.path, command, environment: ["SYNCD_SOCKET": daemon.socket])
            let words = command == ["metrics"] ? "syncd_reload_failed 1" : place
            #expect((ended.output + ended.errors).contains(words), "\(command): \(ended)")
        }
        #expect(try tool(daemon, "doctor").status == 1)
        if getuid() == 0 {
            chmod(daemon.directory.path, 0o755)
            chmod(daemon.socket, 0o666)
            let other = try run(
                "/usr/bin/setpriv",
                [
                    "--reuid", "2001", "--regid", "2001", "--clear-groups",
                    Programs.synctool.path, "status", "--check",
                ], environment: ["SYNCD_SOCKET": daemon.socket])
            #expect(other.status == 1 && !other.output.contains(file), "\(other)")
            #expect(other.output.contains("root and the daemon's user see why"), "\(other)")
        }
        try reload("log: info\n")
        try await eventually("it is over: \(daemon.log)") {
            try await daemon.client.overview().reloadFailure == nil
        }
        #expect(try tool(daemon, "status", "--check").status == 0)
        #expect(daemon.stop() == 0)
    }

    /// A daemon that is started while a remote is away has sent nothing, and does not know of what
    /// the one before it could not send, but from the file.
    @Test(arguments: [true, false])
    func whatIsUnsentIsKnownFromTheFileOrNotAtAll(isUnsent: Bool) async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let folder = daemon.directory.file("shared")
        mkdir(folder, 0o755)
        let added = try tool(daemon, "remote", "add", store, "origin", "dir:" + folder)
        #expect(added.status == 0, "\(added)")
        try sqlite3(store, "INSERT INTO Album VALUES (1, 'sent', 1)")
        // The daemon may not have seen the row yet when it says that nothing is unsent.
        let sent =
            "SELECT value = (SELECT max(seq) FROM syncd_log) FROM syncd_meta WHERE key = 'sent'"
        try await eventually("all is sent: \(daemon.log)") { try sqlite3(store, sent) == "1" }
        #expect(daemon.stop() == 0)
        rename(folder, folder + "-away")
        if isUnsent { try sqlite3(store, "INSERT INTO Album VALUES (2, 'unsent', 1)") }
        try await daemon.start()
        try await eventually("the exchange failed: \(daemon.log)") {
            try await overview(daemon, store).remotes.first?.error != nil
        }
        let remote = try #require(try await overview(daemon, store).remotes.first)
        #expect(remote.behind == (isUnsent ? 1 : nil), "\(daemon.log)")
        #expect((remote.behindSince != nil) == isUnsent)
        let check = try tool(daemon, "status", "--check").output
        #expect(check.contains(isUnsent ? "unsent=1 " : "unsent=U "), "\(check)")
        let metrics = try tool(daemon, "metrics").output
        #expect(metrics.contains("syncd_remote_behind_transactions{") == isUnsent, "\(metrics)")
        rename(folder + "-away", folder)
        try await eventually("all is sent: \(daemon.log)") {
            try await overview(daemon, store).remotes.first?.behind == 0
        }
        #expect(try tool(daemon, "status", "--check").output.contains("unsent=0 lagSeconds=0"))
        #expect(daemon.stop() == 0)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be somebody else"))
    func theOwnerOfAMissingFileSeesIt() async throws {
        let (server, alice, bob): (UInt32, UInt32, UInt32) = (2003, 2002, 2001)
        let daemon = try await TestDaemon(user: server)
        chmod(daemon.socket, 0o666)
        let folder = daemon.directory.file("shared")
        mkdir(folder, 0o777)
        chmod(folder, 0o777)
        let store = folder + "/own.db"
        try sqlite3(store, "CREATE TABLE note(id INTEGER PRIMARY KEY)")
        chmod(store, 0o666)
        chown(store, alice, alice)
        func tool(_ uid: UInt32, _ arguments: String...) throws -> Ended {
            try run(
                "/usr/bin/setpriv",
                [
                    "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups",
                    Programs.synctool.path,
                ] + arguments,
                environment: ["SYNCD_SOCKET": daemon.socket])
        }
        #expect(try tool(alice, "track", store).status == 0, "\(daemon.log)")
        for ending in ["", "-wal", "-shm"] { unlink(store + ending) }
        try await eventually("it is missing") {
            try tool(0, "status").output.contains("missing")
        }
        #expect(try tool(alice, "status").output.contains(store))
        let check = try tool(alice, "status", "--check")
        #expect(check.status == 2 && check.output.contains("untrack --forget"), "\(check)")
        #expect(try tool(alice, "doctor").status == 1)
        #expect(try !tool(bob, "status").output.contains("own.db"))
        let kept = try tool(alice, "untrack", store)
        #expect(kept.status == 66 && kept.errors.contains("--forget"), "\(kept)")
        #expect(try tool(bob, "untrack", "--forget", store).status == 66)
        #expect(try tool(alice, "untrack", "--forget", store).status == 0)
        #expect(try !tool(0, "status").output.contains("own.db"))
    }
}
