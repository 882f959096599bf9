import Foundation
import Glibc
import SyncTesting
import Synchronization
import Testing

/// One test's world: a folder, an environment of its own, maybe a daemon. Commands run in the
/// folder, so that databases are named by plain file names.
final class Scene: Sendable {
    let folder: Folder
    let socket: String
    let environment: [String: String]
    /// What was started and has not been waited for.
    private let started = Mutex<[Child]>([])

    init() throws {
        folder = try Folder()
        // As a home folder is: a database in it may get a key.
        Glibc.chmod(folder.url.path, 0o700)
        socket = folder.path("s.sock")
        var environment = ProcessInfo.processInfo.environment
        environment["SYNCD_SOCKET"] = socket
        environment["XDG_RUNTIME_DIR"] = folder.url.path
        environment["XDG_CONFIG_HOME"] = folder.path("config")
        environment["XDG_STATE_HOME"] = folder.path("state")
        environment["HOME"] = folder.url.path
        environment["TERM"] = "dumb"
        self.environment = environment
    }

    /// Runs a body with a scene that is cleaned up after it: no process outlives it, no matter how
    /// the body ends.
    static func with(_ body: (Scene) async throws -> Void) async throws {
        let scene = try Scene()
        defer { scene.folder.remove() }
        do {
            try await body(scene)
        } catch {
            await scene.endProcesses()
            throw error
        }
        await scene.endProcesses()
    }

    private func endProcesses() async {
        for child in started.withLock({ $0 }) { await child.stop() }
    }

    /// Starts a process. It is ended with the scene, if the test does not stop it before.
    func start(_ program: String, _ arguments: String...) throws -> Child {
        try start(program, arguments)
    }

    func start(_ program: String, _ arguments: [String], appending: URL? = nil) throws -> Child {
        let child = try Child(
            program, arguments, in: folder, environment: environment, appending: appending)
        started.withLock { $0.append(child) }
        return child
    }

    /// Runs `synctool`.
    func tool(_ arguments: String...) async throws -> Child.Output {
        try await run(arguments)
    }

    func run(_ arguments: [String]) async throws -> Child.Output {
        try await Child(Binaries.synctool, arguments, in: folder, environment: environment).output()
    }

    /// Runs `synctool` as another user, with no rights of root's.
    func tool(asUser user: UInt32, _ arguments: String...) async throws -> Child.Output {
        try await run(arguments, asUser: user)
    }

    func run(_ arguments: [String], asUser user: UInt32) async throws -> Child.Output {
        try await Child(
            "/usr/bin/setpriv",
            ["--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", Binaries.synctool]
                + arguments,
            in: folder, environment: environment
        ).output()
    }

    /// Runs a body with a file system of 64 kB, which is full soon; cancels the test where it cannot
    /// be mounted.
    func withTinyDisk(_ body: (_ path: String) async throws -> Void) async throws {
        guard getuid() == 0 else { try Test.cancel("only root can mount a small disk") }
        let disk = folder.path("disk")
        mkdir(disk, 0o755)
        let mount = try await Child(
            "/usr/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], in: folder,
            environment: environment
        ).output()
        guard mount.status == 0 else { try Test.cancel("cannot mount: \(mount.errors)") }
        defer { umount2(disk, Int32(MNT_DETACH)) }
        try await body(disk)
    }

    /// Runs SQL by the sqlite3 shell, in a process of its own, and answers what it printed.
    @discardableResult
    func sql(_ database: String, _ statements: String) async throws -> String {
        let output = try await Child(
            Binaries.sqlite3, ["-bail", "-cmd", ".timeout 20000", database, statements], in: folder,
            environment: environment
        ).output()
        try #require(output.status == 0, "sqlite3: \(output.errors)\n\(statements)")
        return output.text
    }

    /// Tracks a database, and sends it to a folder.
    /// - Returns: the folder's URL.
    func share(_ database: String) async throws -> String {
        mkdir(folder.path("shared"), 0o755)
        let url = "dir:" + folder.path("shared")
        try await tool("track", database).expectSuccess()
        try await tool("remote", "add", database, "origin", url).expectSuccess()
        try await tool("sync", database).expectSuccess()
        return url
    }

    /// Starts the daemon and waits until it answers.
    func startDaemon() async throws -> Child {
        let daemon = try start(Binaries.syncd, "--user")
        let answers = await eventually(within: .seconds(30), every: .milliseconds(20)) {
            !daemon.isRunning || FileManager.default.fileExists(atPath: socket) && connects()
        }
        if !answers || !daemon.isRunning {
            await daemon.stop()
            Issue.record("syncd does not answer: \(daemon.errors)")
        }
        return daemon
    }

    /// A connection to the socket succeeds: a stale file of a killed daemon does not count.
    private func connects() -> Bool {
        let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socket.utf8)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// The Chinook sample, or the one like it that the fixture makes: `music.db` in the folder.
    func makeMusic() async throws -> String {
        let path = folder.path("music.db")
        if let sample = ProcessInfo.processInfo.environment["SYNCD_CHINOOK"], !sample.isEmpty {
            try FileManager.default.copyItem(atPath: sample, toPath: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        } else {
            let fixture = Binaries.root.appendingPathComponent(
                "Tests/EndToEndTests/Fixtures/music.sql")
            try await sql("music.db", ".read '\(fixture.path)'")
        }
        return "music.db"
    }
}

extension Scene {
    func chmod(_ name: String, _ mode: Int) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: folder.path(name))
    }

    /// A user without root's permissions. Cancels the test unless it runs as root, which can become
    /// that user.
    func otherUser() throws -> UInt32 {
        guard getuid() == 0 else {
            try Test.cancel("only root can run a command as another user")
        }
        try chmod(".", 0o755)
        return 65534
    }
}

extension Child.Output {
    /// Requires status 0.
    @discardableResult
    func expectSuccess(location: SourceLocation = #_sourceLocation) throws -> Child.Output {
        try #require(status == 0, "\(errors)\(text)", sourceLocation: location)
        return self
    }
}
