import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncReplica
import SyncStorage
import SyncTesting
import Testing

@testable import syncd

/// A store that is not the daemon's own does not choose where the daemon connects to.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "only root can give files away"))
struct ForeignRemoteTests {
    private static let bob: UInt32 = 2001

    // MARK: Whose a file is

    private func makeFile(
        owner: UInt32 = 0, mode: mode_t, in folder: mode_t
    ) throws -> (directory: TemporaryFolder, path: String) {
        let directory = try TemporaryFolder()
        chmod(directory.path, folder)
        let path = PathResolution.resolved(directory.file("a.db"))
        try "".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, mode)
        chown(path, owner, owner)
        return (directory, path)
    }

    @Test func aFileOfAnotherUserIsNotOwn() throws {
        let (directory, path) = try makeFile(owner: Self.bob, mode: 0o600, in: 0o700)
        defer { withExtendedLifetime(directory) {} }
        let ownership = try #require(FileOwnership(of: path))
        #expect(!ownership.isOwn)
        #expect(ownership.owner == Self.bob)
        #expect(ownership.file == FileIdentity(path: path))
        #expect(
            FileOwnership(of: path, user: Self.bob)?.isOwn == true, "it is that user's own")
    }

    @Test func aSharedFileInAFolderOfOnesOwnIsOwn() throws {
        let (directory, path) = try makeFile(mode: 0o666, in: 0o755)
        defer { withExtendedLifetime(directory) {} }
        #expect(FileOwnership(of: path)?.isOwn == true)
    }

    /// As the -wal that the daemon makes beside a database of somebody else, once it is renamed.
    @Test func aSharedFileInASharedFolderIsNotOwn() throws {
        let (directory, path) = try makeFile(mode: 0o666, in: 0o777)
        defer { withExtendedLifetime(directory) {} }
        #expect(FileOwnership(of: path)?.isOwn == false)
        chmod(path, 0o644)
        #expect(FileOwnership(of: path)?.isOwn == true, "nobody else writes it")
        chmod(path, 0o664)
        #expect(FileOwnership(of: path)?.isOwn == true, "the group root is root's own")
        chown(path, 0, 2001)
        #expect(FileOwnership(of: path)?.isOwn == false, "another group is not")
    }

    @Test func aListOfOtherUsersCounts() throws {
        let (directory, path) = try makeFile(mode: 0o664, in: 0o777)
        defer { withExtendedLifetime(directory) {} }
        #expect(FileOwnership(of: path)?.isOwn == true, "the group root is root's own")
        let program = """
            import os, struct, sys
            entries = [(1, 6, -1), (2, 6, 2001), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
            packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
            os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + packed)
            """
        let ended = try run("/usr/bin/python3", ["-c", program, path])
        try #require(ended.status == 0, "\(ended.errors)")
        #expect(FileOwnership(of: path)?.isOwn == false)
    }

    @Test func aLinkHasNoOwner() throws {
        let (directory, path) = try makeFile(mode: 0o600, in: 0o700)
        symlink(path, directory.file("link.db"))
        #expect(FileOwnership(of: PathResolution.resolved(directory.path) + "/link.db") == nil)
    }

    // MARK: The daemon

    private func remote(_ daemon: TestDaemon, _ store: String) async throws -> RemoteStatus? {
        try await daemon.client.status(store).remotes.first
    }

    @Test func remotesInTheFileOfAnotherUserAreNotUsed() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        let store = try await daemon.makeStore()
        let secret = daemon.directory.file("secret")
        mkdir(secret, 0o700)
        // The folder is a remote of root's store, which the daemon keeps in sync with it.
        let other = try await daemon.makeStore("other.db")
        let tool = Programs.synctool.path
        let added = try run(
            tool, ["remote", "add", other, "origin", "dir:" + secret],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(added.status == 0, "\(added.errors)")
        try await eventually("the own store is synchronised: \(daemon.log)") {
            try await remote(daemon, other)?.lastSync != nil
        }
        let before = try FileManager.default.subpathsOfDirectory(atPath: secret).sorted()
        try await daemon.give(store, to: Self.bob)
        try sqlite3(
            store,
            """
            CREATE TABLE syncd_remote(name TEXT PRIMARY KEY, url TEXT, options TEXT) WITHOUT ROWID;
            INSERT INTO syncd_remote VALUES ('steal', 'dir:\(secret)', '{}');
            INSERT INTO Artist(Name) VALUES ('x'); ALTER TABLE Artist ADD COLUMN Later;
            """)
        try await eventually("the daemon has read the remotes: \(daemon.log)") {
            try await remote(daemon, store) != nil
        }
        try await Task.sleep(for: .seconds(1))
        let report = try await daemon.client.status(store)
        #expect(report.ignoresRemotes)
        #expect(report.remotes.map(\.state) == [.failed])
        #expect(report.remotes.first?.error?.contains("not used by the daemon") == true)
        #expect(report.remotes.first?.lastSync == nil)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: secret).sorted() == before)
        let lines = daemon.log.split(separator: "\n").filter { $0.contains("steal is not used") }
        #expect(lines.count == 1, "\(daemon.log)")
        #expect(
            lines.first?.contains("stores: - path: \"\(store)\" remotes: - {name: steal") == true)
        #expect(try await daemon.client.status(other).ignoresRemotes == false)
    }

    @Test func remotesOfTheConfigurationAreUsed() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        let store = try await daemon.makeStore()
        try await daemon.give(store, to: Self.bob)
        let folder = daemon.directory.file("shared")
        mkdir(folder, 0o700)
        let tool = Programs.synctool.path
        let refused = try run(
            tool, ["remote", "add", store, "origin", "dir:" + folder],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("the daemon takes no remotes from this file"))
        #expect(refused.errors.contains("--manual"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        let manual = try run(
            tool, ["remote", "add", store, "origin", "dir:" + folder, "--manual"],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(manual.status == 0, "\(manual.errors)")
        // The lines that the refusal shows are a configuration.
        let lines = refused.errors.split(separator: "\n").filter { $0.hasPrefix("    ") }
            .map { $0.dropFirst(4) }
        try (lines.joined(separator: "\n") + "\n").write(
            toFile: daemon.directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("it is synchronised: \(daemon.log)") {
            try await remote(daemon, store)?.lastSync != nil
        }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).count > 1)
    }

    /// What the daemon may read of a folder or of another machine is not for its callers.
    @Test func theStatusOfARemoteNamesNoOtherStore() async throws {
        let directory = try TemporaryFolder()
        let other = directory.file("other.db")
        let ssh = directory.file("ssh")
        try "#!/bin/sh\nexec '\(Programs.synctool.path)' serve --stdio '\(other)'\n".write(
            toFile: ssh, atomically: true, encoding: .utf8)
        chmod(ssh, 0o755)
        let daemon = try await TestDaemon(in: directory, environment: ["SYNCD_SSH": ssh])
        chmod(directory.path, 0o755)
        let store = try await daemon.makeStore()
        try await daemon.give(store, to: Self.bob)
        _ = try await daemon.makeStore("other.db")
        let id = try #require(try await daemon.client.status(other).store.id)
        let folder = directory.file("folder")
        mkdir(folder, 0o700)
        let added = try run(
            Programs.synctool.path, ["remote", "add", other, "origin", "dir:" + folder],
            environment: ["SYNCD_SOCKET": daemon.socket])
        try #require(added.status == 0, "\(added.errors)")
        let lines = [
            "stores:", "  - path: \"\(store)\"", "    remotes:",
            "      - {name: folder, url: \"dir:\(folder)\"}",
            "      - {name: machine, url: \"ssh://host.example/other.db\"}", "",
        ]
        try lines.joined(separator: "\n").write(
            toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("both were tried: \(daemon.log)") {
            let remotes = try await daemon.client.status(store).remotes
            return remotes.count == 2 && remotes.allSatisfy { $0.error != nil }
        }
        for remote in try await daemon.client.status(store).remotes {
            #expect(remote.error?.contains("another store") == true, "\(remote)")
        }
        let raw = try RawSocket(daemon.socket)
        raw.write(#"{"method":"org.syncd.Store.Status","parameters":{"store":"\#(store)"}}"# + "\0")
        let answer = try #require(raw.message())
        #expect(answer.contains("machine") && !answer.contains("\(id)"), "\(answer)")
        // The administrator learns it from the log.
        try await daemon.logs("\(id)")
    }

    @Test func aStoreThatEncryptsIsSentInTheClearOnRequestAlone() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let folder = daemon.directory.file("shared")
        mkdir(folder, 0o700)
        for arguments in [
            ["key", "make", store, "--readable"],
            ["remote", "add", store, "o", "dir:" + folder, "--manual", "--in-clear"],
        ] {
            let ended = try run(
                Programs.synctool.path, arguments, environment: ["SYNCD_SOCKET": daemon.socket])
            try #require(ended.status == 0, "\(ended.errors)")
        }
        func configure(_ more: String) throws {
            try "stores: [{path: \(store), remotes: [{name: o, url: 'dir:\(folder)'\(more)}]}]"
                .write(
                    toFile: daemon.directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
            daemon.signal(SIGHUP)
        }
        try configure("")
        try await eventually("it is not used: \(daemon.log)") {
            try await remote(daemon, store)?.error?.contains("encrypted: false") == true
        }
        #expect(try await remote(daemon, store)?.lastSync == nil)
        try await daemon.logs("remote o is not used by the daemon")
        let doctor = try run(
            Programs.synctool.path, ["doctor", store],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(doctor.output.contains("remote o: not used by the daemon"), "\(doctor)")
        try configure(", encrypted: false")
        try await eventually("it is synchronised: \(daemon.log)") {
            try await remote(daemon, store)?.lastSync != nil
        }
    }

    /// The remote of one file is not used for another one that came to its path.
    @Test func anExchangeIsWithTheFileOfItsRemote() async throws {
        let directory = try TemporaryFolder()
        let path = PathResolution.resolved(directory.path) + "/a.db"
        for name in ["a.db", "b.db"] {
            try sqlite3(directory.file(name), "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            try Store.track(directory.file(name))
        }
        mkdir(directory.file("shared"), 0o700)
        let work = ReplicationWork(path: path, marks: nil)
        let entry = try RemoteEntry(name: "o", url: "dir:" + directory.file("shared"))
        let found = try await work.remotes(configured: [entry])
        #expect(found.used == [entry])
        #expect(found.file == FileIdentity(path: path))
        rename(directory.file("b.db"), path)
        await #expect(throws: SyncError(.storeReplaced, "")) {
            try await work.exchange(entry, of: found.file)
        }
    }
}
