import Foundation
import Glibc
import SyncTesting
import SyncValues
import Testing

@testable import SyncMerge
@testable import SyncRemotes

/// What others put into a remote folder neither keeps a replica waiting nor leads it elsewhere.
@Suite(.timeLimit(.minutes(1))) struct FolderFilesTests {
    private let directory: TemporaryFolder
    private let files: FolderFiles

    init() throws {
        directory = try TemporaryFolder()
        files = FolderFiles(directory.path)
    }

    @Test func whatIsWrittenIsRead() throws {
        try files.makeFolder("sub")
        try files.makeFolder("sub")
        for name in ["a", "sub/b"] {
            try files.write([1, 2, 3], to: name, temporaryPrefix: ".tmp-")
            #expect(try files.read(name, limit: 3) == [1, 2, 3])
            #expect(files.head(of: name, limit: 2)?.bytes == [1, 2])
            #expect(files.head(of: name, limit: 2)?.size == 3)
            #expect(throws: SyncError(.badData, "")) { try files.read(name, limit: 2) }
        }
        #expect(files.names() == ["a", "sub"])
        #expect(files.names(in: "sub") == ["b"])
        try files.remove("sub/b")
        try files.remove("sub/b")
        try files.remove("none/b")
        #expect(throws: SyncError(.unreachable, "")) { try files.read("sub/b", limit: 9) }
    }

    private func mode(_ name: String) -> mode_t {
        var status = stat()
        return stat(directory.path + "/" + name, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test func theGroupOfASharedFolderGetsWhatIsMade() throws {
        // A umask of 022 leaves the group no permission to write.
        chmod(directory.path, 0o2770)
        try files.makeFolder("shared")
        try files.write([1], to: "shared/a", temporaryPrefix: ".tmp-")
        #expect(mode("shared") & 0o2070 == 0o2070)
        #expect(mode("shared/a") & 0o060 == 0o060)
        chmod(directory.path + "/shared", 0o2750)
        try files.write([1], to: "shared/b", temporaryPrefix: ".tmp-")
        #expect(mode("shared/b") & 0o060 == 0o040, "it may read, as it may the folder")
    }

    /// An identity, for one.
    @Test func aPrivateFileIsNotShared() throws {
        chmod(directory.path, 0o2770)
        try files.write([1], to: "secret", temporaryPrefix: ".tmp-", mode: 0o600)
        #expect(mode("secret") == 0o600)
    }

    @Test func aPipeIsNotOpened() throws {
        mkfifo(directory.file("pipe"), 0o600)
        #expect(files.head(of: "pipe", limit: 10) == nil)
        #expect(throws: SyncError(.badData, "")) { try files.look(at: "pipe", limit: 10) }
        #expect(files.names(in: "pipe") == nil)
    }

    @Test func noLinkIsFollowedBelowTheFolder() throws {
        let elsewhere = try TemporaryFolder()
        try "secret".write(
            toFile: elsewhere.file("secret"), atomically: true, encoding: .utf8)
        symlink(elsewhere.file("secret"), directory.file("link"))
        symlink(elsewhere.path, directory.file("folder"))
        symlink("/dev/zero", directory.file("zero"))
        for name in ["link", "folder/secret", "zero"] {
            #expect(files.head(of: name, limit: 10) == nil)
        }
        #expect(files.names(in: "folder") == nil)
        #expect(throws: SyncError(.notAllowed, "")) {
            try files.write([1], to: "folder/new", temporaryPrefix: ".tmp-")
        }
        #expect(throws: SyncError(.notAllowed, "")) { try files.remove("folder/secret") }
        // The link itself is replaced, not what it leads to.
        try files.write([1], to: "link", temporaryPrefix: ".tmp-")
        #expect(
            try String(contentsOfFile: elsewhere.file("secret"), encoding: .utf8) == "secret")
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path) == ["secret"])
        // The folder itself may be a link: its user chose it.
        symlink(directory.path, elsewhere.file("here"))
        #expect(FolderFiles(elsewhere.file("here")).head(of: "link", limit: 1)?.bytes == [1])
    }

    @Test func aFolderInThePlaceOfAFileIsNamed() throws {
        try FileManager.default.createDirectory(
            atPath: directory.file("asked/x"), withIntermediateDirectories: true)
        for action in [
            { try files.remove("asked") },
            { try files.write([1], to: "asked", temporaryPrefix: ".tmp-") },
        ] {
            let error = #expect(throws: SyncError.self) { try action() }
            #expect(error?.hint?.contains("rm -r") == true, "\(String(describing: error))")
        }
    }

    @Test func aRemoteSkipsPipesAndNamesThem() async throws {
        let store = SimulatedReplica.store
        try DirectoryRemote.create(directory.path, store: store)
        let sender = SimulatedReplica.id("B")
        mkdir(directory.file("\(sender)"), 0o700)
        mkfifo(directory.file("\(sender)/0000000000000001-0000000000000000.synb"), 0o600)
        mkfifo(directory.file("\(sender)/merged"), 0o600)
        let remote = try DirectoryRemote(
            directory.path, store: store, replica: SimulatedReplica.id("A"))
        let catalog = try await remote.catalog(since: VersionVector())
        #expect(catalog.items.isEmpty)
        #expect(catalog.problems.map(\.reason) == ["not a regular file"])
        #expect(try await remote.acknowledged().isEmpty)
        unlink(directory.file("syncd-remote"))
        mkfifo(directory.file("syncd-remote"), 0o600)
        await #expect(throws: SyncError(.unreachable, "")) {
            try await remote.catalog(since: VersionVector())
        }
    }
}
