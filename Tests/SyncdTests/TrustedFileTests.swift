import Foundation
import Glibc
import SyncTesting
import Testing

@testable import syncd

/// What others may write, or own, tells the daemon nothing.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "only root can give files away"))
struct TrustedFileTests {
    private static let bob: UInt32 = 2001
    /// A user of every Debian with a group of the same name and number, and one of another.
    private static let daemon: UInt32 = 1

    private let directory: TemporaryFolder

    init() throws {
        directory = try TemporaryFolder()
        mkdir(directory.file("stores.d"), 0o755)
        for name in ["syncd.yaml", "stores.d/a.yaml"] {
            try "stores: []".write(
                toFile: directory.file(name), atomically: true, encoding: .utf8)
        }
    }

    private func read() throws {
        var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        try ConfigurationReader.read(
            into: &configuration, file: directory.file("syncd.yaml"), isRequired: true,
            storesDirectory: directory.file("stores.d"))
    }

    private func expectFault(
        at name: String, _ words: String, location: SourceLocation = #_sourceLocation
    ) {
        do {
            try read()
            Issue.record("\(name) was used", sourceLocation: location)
        } catch let fault as ConfigurationFault {
            #expect(
                fault.place == directory.path + name && fault.reason.contains(words), "\(fault)",
                sourceLocation: location)
        } catch {
            Issue.record("\(error)", sourceLocation: location)
        }
    }

    @Test(arguments: ["/syncd.yaml", "", "/stores.d", "/stores.d/a.yaml"])
    func configurationThatOthersWriteIsAFault(_ name: String) throws {
        let path = directory.path + name
        let mode: mode_t = name.hasSuffix(".yaml") ? 0o644 : 0o755
        chmod(path, mode | 0o002)
        expectFault(at: name, "chmod go-w \(path)")
        chmod(path, mode | 0o020)
        try read()
        chown(path, 0, Self.bob)
        expectFault(at: name, "other users may write")
        chmod(path, mode)
        try read()
        chown(path, Self.bob, 0)
        expectFault(at: name, "belongs to uid \(Self.bob)")
        chown(path, 0, 0)
        try read()
    }

    @Test func aFolderWithTheStickyBitMayHoldTheFile() throws {
        chmod(directory.path, 0o1777)
        try read()
        chmod(directory.file("stores.d"), 0o1777)
        expectFault(at: "/stores.d", "other users may write")
    }

    @Test func aLinkOfAnotherUserIsNotFollowed() throws {
        let path = directory.file("syncd.yaml")
        rename(path, directory.file("real"))
        symlink(directory.file("real"), path)
        try read()
        lchown(path, Self.bob, Self.bob)
        expectFault(at: "/syncd.yaml", "belongs to uid \(Self.bob)")
    }

    /// A umask of 002, with a group for each user.
    @Test func thePrivateGroupOfTheUserMayWrite() throws {
        try #require(getpwuid(Self.daemon) != nil)
        let path = directory.file("syncd.yaml")
        chmod(path, 0o664)
        chown(path, Self.daemon, Self.daemon)
        #expect(TrustedFile.objection(to: path, as: .file, user: Self.daemon) == nil)
        chown(path, Self.daemon, Self.bob)
        #expect(TrustedFile.objection(to: path, as: .file, user: Self.daemon) != nil)
    }

    @Test func stateThatOthersWriteIsAFault() throws {
        let state = directory.file("state")
        mkdir(state, 0o755)
        try RememberedStores(directory: state).add("/a.db")
        _ = try RememberedStores(directory: state)
        for path in [state, state + "/stores.json"] {
            var status = stat()
            stat(path, &status)
            chmod(path, status.st_mode | 0o002)
            #expect(throws: ConfigurationFault.self) { try RememberedStores(directory: state) }
            chmod(path, status.st_mode)
            _ = try RememberedStores(directory: state)
        }
    }

    // MARK: The daemon

    @Test func theDaemonEndsAndSaysWhatToDo() throws {
        let arguments = TestDaemon.arguments(directory)
        chmod(directory.file("syncd.yaml"), 0o666)
        for more in [[], ["--check-config"]] {
            let ended = try run(Programs.syncd.path, arguments + more)
            #expect(ended.status == 78)
            #expect(ended.errors.contains("syncd.yaml: other users may write"), "\(ended.errors)")
        }
        chmod(directory.file("syncd.yaml"), 0o644)
        mkdir(directory.file("state"), 0o777)
        chmod(directory.file("state"), 0o777)
        for more in [[], ["--check-config"]] {
            let ended = try run(Programs.syncd.path, arguments + more)
            #expect(ended.status == 78)
            #expect(ended.errors.contains("state: other users may write"), "\(ended.errors)")
        }
    }

    @Test func aReloadKeepsWhatWasThere() async throws {
        let daemon = try await TestDaemon(in: directory)
        let store = try await daemon.makeStore()
        chmod(directory.file("stores.d/a.yaml"), 0o666)
        daemon.signal(SIGHUP)
        try await eventually("it says so: \(daemon.log)") {
            daemon.log.contains("reload failed") && daemon.log.contains("a.yaml: other users may")
        }
        #expect(try await daemon.client.status(store).store.state == .open)
    }
}
