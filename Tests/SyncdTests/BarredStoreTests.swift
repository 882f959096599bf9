import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

/// A store behind a folder that the daemon may not search: with a daemon that is not root.
@Suite(.timeLimit(.minutes(5)), .enabled(if: getuid() == 0, "only root can be somebody else"))
struct BarredStoreTests {
    private static let bob: UInt32 = 2001
    private static let alice: UInt32 = 2002
    private static let server: UInt32 = 2003

    private func tool(
        _ uid: UInt32, _ daemon: TestDaemon, _ arguments: String...
    ) throws -> Ended {
        try run(
            "/usr/bin/setpriv",
            ["--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", Programs.synctool.path]
                + arguments,
            environment: ["SYNCD_SOCKET": daemon.socket])
    }

    @Test func itsSubscribersAreToldThatItCannotBeReached() async throws {
        let daemon = try await TestDaemon(user: Self.server)
        chmod(daemon.socket, 0o666)
        let folder = daemon.directory.file("bob")
        let store = folder + "/own.db"
        mkdir(folder, 0o777)
        try sqlite3(store, "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        chmod(store, 0o666)
        chown(store, Self.bob, Self.bob)
        chown(folder, Self.bob, Self.bob)
        chmod(folder, 0o777)
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        chmod(folder, 0o700)
        var reason: String?
        try await eventually("they are told: \(daemon.log)") {
            for case .storeRemoved(_, let why) in seen.notices { reason = why }
            return seen.has { if case .storeRemoved = $0 { true } else { false } }
        }
        let words = "may not search the folder \(folder)"
        #expect(reason?.contains(words) == true, "\(reason ?? "nil")")
        try await daemon.logs(words)
        #expect(!daemon.log.contains("the file is gone"), "\(daemon.log)")
        chmod(folder, 0o777)
        try await eventually("it is back: \(daemon.log)") {
            seen.has { if case .storeReturned = $0 { true } else { false } }
        }
        #expect(daemon.stop() == 0)
    }

    @Test func itsOwnerSeesWhyItIsNotServed() async throws {
        let daemon = try await TestDaemon(user: Self.server)
        chmod(daemon.socket, 0o666)
        let folder = daemon.directory.file("bob")
        let (store, other) = (folder + "/own.db", folder + "/other.db")
        mkdir(folder, 0o777)
        for path in [store, other] {
            try sqlite3(path, "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
            chmod(path, 0o666)
            chown(path, Self.bob, Self.bob)
        }
        chmod(folder, 0o777)
        chown(folder, Self.bob, Self.bob)
        #expect(try tool(Self.bob, daemon, "track", store).status == 0, "\(daemon.log)")
        chmod(folder, 0o700)
        let words = "may not search the folder \(folder)"
        for round in 0..<2 {
            for _ in 0..<3 {
                let list = try tool(Self.bob, daemon, "status")
                #expect(list.output.contains(store) && list.output.contains(words), "\(list)")
            }
            let doctor = try tool(Self.bob, daemon, "doctor")
            #expect(doctor.status == 1 && doctor.output.contains(words), "\(doctor)")
            #expect(doctor.output.contains("setfacl -m u:\(Self.server):x"), "\(doctor)")
            // Others do not learn that there is such a store; root does.
            #expect(try !tool(Self.alice, daemon, "status").output.contains("own.db"))
            #expect(try tool(Self.alice, daemon, "doctor").status == 0)
            #expect(try tool(0, daemon, "status").output.contains(words))
            // Its owner's commands use the file, and say why.
            let status = try tool(Self.bob, daemon, "status", store)
            #expect(status.status == 0 && status.output.contains(words), "\(status)")
            let history = try tool(Self.bob, daemon, "history", store)
            #expect(history.status == 0, "\(history)")
            let check = try tool(Self.bob, daemon, "doctor", store)
            #expect(check.status == 1 && check.output.contains(words), "\(check)")
            let asked = try tool(
                Self.bob, daemon, "history", store, "--socket", daemon.socket)
            #expect(asked.status == 77 && asked.errors.contains(words), "\(asked)")
            let tracked = try tool(Self.bob, daemon, "track", other)
            #expect(tracked.status == 77 && tracked.errors.contains(words), "\(tracked)")
            // A daemon that never saw the file knows whose the folder is.
            guard round == 0 else { break }
            #expect(daemon.stop() == 0)
            try await daemon.start()
            chmod(daemon.socket, 0o666)
        }
        chmod(folder, 0o777)
        try await eventually("it is open again: \(daemon.log)") {
            try await daemon.client.list().first?.state == .open
        }
        chmod(folder, 0o700)
        let untracked = try tool(Self.bob, daemon, "untrack", store, "--forget")
        #expect(untracked.status == 0, "\(untracked)")
        #expect(try await daemon.client.list().isEmpty)
        #expect(daemon.stop() == 0)
    }
}
