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
        #expect(try tool(bob, "untrack", "--forget", store).status == 66)
        #expect(try tool(alice, "untrack", "--forget", store).status == 0)
        #expect(try !tool(0, "status").output.contains("own.db"))
    }
}
