import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncTesting
import Testing

@testable import syncd

/// Who may read a store releases no history that the consumer of another user holds back. With
/// commands of real users.
@Suite(.timeLimit(.minutes(5)), .enabled(if: getuid() == 0, "only root can be somebody else"))
struct ConsumerOwnerTests {
    private static let bob: UInt32 = 2001
    private static let carol: UInt32 = 2003
    private static let dave: UInt32 = 2004

    /// A daemon with a store that all may read.
    private struct Scene {
        let daemon: TestDaemon
        let store: String
        let token: String

        /// - Parameter owner: of the store; another one than root has a worker.
        init(owner: UInt32) async throws {
            daemon = try await TestDaemon()
            chmod(daemon.directory.path, 0o755)
            store = try await daemon.makeStore()
            if owner != 0 { try await daemon.give(store, to: owner) }
            chmod(store, 0o644)
            chmod(daemon.socket, 0o666)
            token = try await daemon.client.head(store).description
        }

        func restart(after body: () throws -> Void = {}) async throws {
            #expect(daemon.stop() == 0)
            try body()
            try await daemon.start()
            chmod(daemon.socket, 0o666)
            try await eventually("it is open") { (try? await daemon.client.head(store)) != nil }
        }

        func consumers(_ uid: UInt32, _ command: String, _ rest: String...) throws -> Ended {
            try run(
                "/usr/bin/setpriv",
                [
                    "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups",
                    Programs.synctool.path, "consumers", command, store, "reader",
                ] + rest + ["--socket", daemon.socket])
        }

        func register(_ uid: UInt32) throws -> Ended { try consumers(uid, "add", "--lease", "1d") }

        func acknowledge(_ uid: UInt32) throws -> Ended { try consumers(uid, "ack", token) }

        func expect(
            _ ended: Ended, isRefusedFor owner: UInt32? = nil,
            location: SourceLocation = #_sourceLocation
        ) {
            #expect(ended.status == (owner == nil ? 0 : 77), "\(ended)", sourceLocation: location)
            guard let owner else { return }
            #expect(
                ended.errors.contains("belongs to uid \(owner)"), "\(ended)",
                sourceLocation: location)
        }
    }

    @Test(arguments: [0, 2001] as [UInt32])
    func whoRegistersAConsumerOwnsIt(_ owner: UInt32) async throws {
        let scene = try await Scene(owner: owner)
        scene.expect(try scene.register(Self.carol))
        scene.expect(try scene.acknowledge(Self.dave), isRefusedFor: Self.carol)
        scene.expect(try scene.register(Self.dave), isRefusedFor: Self.carol)
        scene.expect(try scene.acknowledge(Self.carol))
        // The owner of the store and root may, and it stays hers.
        for uid in [owner, 0] {
            scene.expect(try scene.acknowledge(uid))
            scene.expect(try scene.register(uid))
        }
        scene.expect(try scene.acknowledge(Self.dave), isRefusedFor: Self.carol)
        try await scene.restart()
        scene.expect(try scene.acknowledge(Self.dave), isRefusedFor: Self.carol)
        scene.expect(try scene.acknowledge(Self.carol))
        // The name of a consumer that was removed is free.
        scene.expect(try scene.consumers(owner, "remove"))
        #expect(try scene.acknowledge(Self.dave).status == 1)
        scene.expect(try scene.register(Self.dave))
        scene.expect(try scene.acknowledge(Self.carol), isRefusedFor: Self.dave)
        #expect(scene.daemon.stop() == 0)
    }

    @Test func aConsumerWithoutAKnownOwnerBelongsToItsFirstUser() async throws {
        let scene = try await Scene(owner: 0)
        scene.expect(try scene.register(Self.carol))
        let state = scene.daemon.directory.file("state")
        try await scene.restart {
            let names = try FileManager.default.contentsOfDirectory(atPath: state)
                .filter { $0.hasSuffix(".consumers") }
            #expect(names.count == 1)
            for name in names { unlink(state + "/" + name) }
        }
        // Not to root, which may use each.
        scene.expect(try scene.acknowledge(0))
        scene.expect(try scene.acknowledge(Self.dave))
        scene.expect(try scene.acknowledge(Self.carol), isRefusedFor: Self.dave)
        // One that was registered in the file.
        scene.expect(try scene.consumers(0, "remove"))
        let direct = try run(
            Programs.synctool.path, ["consumers", "add", scene.store, "reader", "--direct"])
        #expect(direct.status == 0, "\(direct.errors)")
        scene.expect(try scene.register(0))
        scene.expect(try scene.register(Self.carol))
        scene.expect(try scene.acknowledge(Self.dave), isRefusedFor: Self.carol)
        #expect(scene.daemon.stop() == 0)
    }

    @Test func aUserOwnsSoManyConsumersOfAStore() throws {
        let directory = try TemporaryFolder()
        let path = directory.file("a.db")
        try sqlite3(path, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
        try Store.track(path)
        let store = try Store.open(path)
        defer { try? store.close() }
        let owners = ConsumerOwners(directory: directory.path, perUserMax: 5)
        func register(_ name: String, by uid: UInt32) throws {
            try owners.register(name, of: store, for: .init(uid: uid, fileOwner: nil)) {
                try store.register(consumer: name)
            }
        }
        for number in 0..<5 { try register("c\(number)", by: Self.bob) }
        #expect(throws: SyncError(.refused, "")) { try register("more", by: Self.bob) }
        try register("c0", by: Self.bob)
        try register("more", by: Self.carol)
        // A state that cannot be written registers nothing.
        let lost = ConsumerOwners(directory: directory.file("none"))
        #expect(throws: SyncError(.refused, "")) {
            try lost.register("x", of: store, for: .init(uid: Self.bob, fileOwner: nil)) {
                try store.register(consumer: "x")
            }
        }
        #expect(try !store.consumers().contains { $0.name == "x" })
    }
}
