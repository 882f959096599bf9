import Foundation
import Glibc
import SyncClient
import SyncStorage
import SyncTesting
import Testing
import Varlink

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues
@testable import syncd

/// The path of a store may come to name another file: who may use it then is decided for that file,
/// and symbolic links are not followed.
@Suite(.timeLimit(.minutes(3)))
struct ExchangedFileTests {
    private let directory: TemporaryFolder
    private let somebody = PeerIdentity(pid: 1, uid: 2001, gid: 2001, groups: [])

    init() throws {
        directory = try TemporaryFolder()
        chmod(directory.path, 0o755)
    }

    /// A database; its name is in its only row.
    private func makeDatabase(_ name: String, mode: mode_t = 0o644) throws -> String {
        let path = directory.file(name)
        try sqlite3(
            path,
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES (1, '\(name)')")
        chmod(path, mode)
        return path
    }

    private func ownObjects(_ path: String) throws -> String {
        try sqlite3(path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'")
    }

    // MARK: The parts

    @Test func theFileThatWasCheckedIsNamed() throws {
        let path = try makeDatabase("a.db")
        let link = directory.file("link.db")
        symlink(path, link)
        let file = try #require(FileIdentity(path: path))
        #expect(FilePermission.file(at: path, for: .read, peer: somebody) == file)
        #expect(
            FilePermission.file(at: link, for: .read, peer: somebody) == nil,
            "a link is not followed")
        #expect(FileIdentity(unlinkedPath: link) == nil)
        let folder = directory.file("folder")
        symlink(directory.path, folder)
        #expect(
            FilePermission.file(at: folder + "/a.db", for: .read, peer: somebody) == nil,
            "nor is one on the way")
        #expect(
            FilePermission.file(at: directory.path + "/../a.db", for: .read, peer: somebody) == nil)
        #expect(FilePermission.file(at: "a.db", for: .read, peer: somebody) == nil)
        chmod(path, 0o600)
        #expect(FilePermission.file(at: path, for: .read, peer: somebody) == nil)
        let root = PeerIdentity(pid: 1, uid: 0, gid: 0, groups: [])
        #expect(FilePermission.file(at: path, for: .write, peer: root) == file)
    }

    @Test func anOpenStoreNeverReadsAnotherFile() throws {
        let path = try makeDatabase("a.db")
        let other = try makeDatabase("other.db")
        for path in [path, other] { try Store.track(path) }
        try sqlite3(other, "INSERT INTO t(x) VALUES ('secret')")
        let store = try Store.open(path, isResolved: true)
        let before = store.file
        unlink(path)
        symlink(other, path)
        #expect(throws: SyncError(.storeReplaced, "")) { try store.history() }
        #expect(throws: SyncError(.storeReplaced, "")) { try store.verifyCapture() }
        unlink(path)
        rename(other, path)
        #expect(throws: SyncError(.storeReplaced, "")) { try store.history() }
        #expect(store.file == before)
        try store.close()
        #expect(try Store.open(path, isResolved: true).file == FileIdentity(path: path))
    }

    @Test func aResolvedPathMayNotBecomeALink() throws {
        let path = try makeDatabase("a.db")
        try Store.track(path)
        let link = directory.file("link.db")
        symlink(path, link)
        #expect(throws: SyncError(.notAllowed, "")) { try Store.open(link, isResolved: true) }
        #expect(throws: SyncError(.notAllowed, "")) { try StoreReplica(link, isResolved: true) }
        // Who types a link means the file that it leads to.
        #expect(try Store.open(link).file == FileIdentity(path: path))
    }

    /// Between the check of a path and the opening of the file somebody puts a link there.
    @Test(arguments: [CaptureChoice(), CaptureChoice(keepsValues: false)])
    func trackingChecksTheFileThatItOpened(_ choice: CaptureChoice) throws {
        let victim = try makeDatabase("victim.db", mode: 0o600)
        let path = directory.file("own.db")
        symlink(victim, path)
        var asked = 0
        let check: (FileIdentity) throws -> Void = { file in
            asked += 1
            guard FilePermission.file(at: path, for: .write, peer: somebody) == file else {
                throw SyncError(.notAllowed, "another file")
            }
        }
        #expect(throws: SyncError(.notAllowed, "")) {
            try Store.track(path, choosing: choice, verifying: check)
        }
        #expect(asked == 1)
        #expect(try ownObjects(victim) == "0")
        try Store.track(victim)
        let before = try ownObjects(victim)
        #expect(throws: SyncError(.notAllowed, "")) {
            try Store.untrack(path, verifying: check)
        }
        #expect(try ownObjects(victim) == before)
    }

    // MARK: The daemon

    @Test func aLinkIsNotFollowedWhenAStoreIsOpenedAgain() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let other = try await daemon.makeStore("other.db")
        let id = try #require(try await daemon.client.status(other).store.id)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        symlink(other, store + ".link")
        rename(store + ".link", store)
        try await eventually("removed") {
            seen.has { if case .storeRemoved = $0 { true } else { false } }
        }
        try sqlite3(other, "INSERT INTO Artist(Name) VALUES ('secret')")
        let summaries = try await daemon.client.list()
        #expect(summaries.filter { $0.id == id }.map(\.path) == [other])
        #expect(summaries.first { $0.path == store }?.state != .open)
        #expect(!seen.has { if case .storeReplaced = $0 { true } else { false } })
        #expect(seen.transactions.isEmpty)
    }

    /// A subscription of another user, by a process of that user. What it gets is in a file.
    private func subscribe(_ daemon: TestDaemon, _ store: String, uid: Int) throws -> (
        process: Process, log: String
    ) {
        let program = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
            call = '{"method":"org.syncd.Store.Subscribe","more":true,"parameters":{"store":"%s"}}'
            s.sendall((call % sys.argv[2]).encode() + b'\\0')
            while True:
                b = s.recv(65536)
                if not b: break
                sys.stdout.write(b.decode()); sys.stdout.flush()
            """
        let log = directory.file("log-\(uid)")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", "/usr/bin/python3", "-c",
            program, daemon.socket, store,
        ]
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, log)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be somebody else"))
    func aReplacedFileIsForThoseWhoMayReadIt() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        let store = try await daemon.makeStore()
        let other = try await daemon.makeStore("other.db")
        try await daemon.client.untrack(other, forget: true)
        try sqlite3(other, "PRAGMA wal_checkpoint(TRUNCATE)")
        chmod(store, 0o644)
        for ending in ["", "-wal", "-shm"] { chown(store + ending, 2001, 2001) }
        try await eventually("the owner's process serves it") {
            guard daemon.log.contains("another owner now") else { return false }
            return (try? await daemon.client.head(store)) != nil
        }
        chown(other, 2001, 2001)
        chmod(other, 0o600)
        let owner = try subscribe(daemon, store, uid: 2001)
        let stranger = try subscribe(daemon, store, uid: 2002)
        defer {
            for process in [owner.process, stranger.process] where process.isRunning {
                process.terminate()
            }
        }
        let text = { (log: String) in
            (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        }
        try await eventually("both are subscribed") {
            text(owner.log).contains("subscription") && text(stranger.log).contains("subscription")
        }
        guard rename(other, store) == 0 else { throw Failure("rename") }
        try await eventually("the owner of the new file hears of it: \(daemon.log)") {
            text(owner.log).contains("storeReplaced")
        }
        try await eventually("the other one is told that there is no store: \(daemon.log)") {
            text(stranger.log).contains("UnknownStore")
        }
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('of the new file')")
        try await eventually("goes on") { text(owner.log).contains("\"transaction\":{") }
        #expect(!text(stranger.log).contains("storeReplaced"))
        #expect(!text(stranger.log).contains("\"transaction\":{"))
    }

    @Test(.enabled(if: getuid() == 0, "only root can be somebody else"))
    func aSubscriptionEndsWithItsPermission() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        let store = try await daemon.makeStore()
        chmod(store, 0o644)
        let stranger = try subscribe(daemon, store, uid: 2002)
        defer { if stranger.process.isRunning { stranger.process.terminate() } }
        let text = { (try? String(contentsOfFile: stranger.log, encoding: .utf8)) ?? "" }
        try await eventually("subscribed") { text().contains("subscription") }
        chmod(store, 0o600)
        try await eventually("ended") { text().contains("UnknownStore") }
    }
}
