import Foundation
import SyncTesting
import Testing

/// A real sshd on a port of the loopback of its own, with its own host key and the one user who may
/// come in; and an ssh that knows it.
final class SSHServer: Sendable {
    private static let program = "/usr/sbin/sshd"

    let port: Int
    /// What stands for `ssh`: the real one, with the keys of this server.
    let client: String
    private let daemon: Daemon

    /// Why there can be no sshd here; nil where there can.
    static var obstacle: String? {
        for program in [program, "/usr/bin/ssh", "/usr/bin/ssh-keygen"]
        where !FileManager.default.isExecutableFile(atPath: program) {
            return "\(program) is not installed"
        }
        guard getuid() == 0 else { return nil }
        // As root it gives up rights in this folder, which the service makes otherwise.
        mkdir("/run/sshd", 0o755)
        return FileManager.default.fileExists(atPath: "/run/sshd") ? nil : "/run/sshd is not there"
    }

    /// Starts one. Cancels the test where there can be none.
    static func start(_ scene: Scene) async throws -> SSHServer {
        if let obstacle { try Test.cancel("no sshd here: \(obstacle)") }
        for key in ["host", "user"] {
            try await Child(
                "/usr/bin/ssh-keygen",
                ["-q", "-t", "ed25519", "-N", "", "-f", scene.folder.path(key)],
                in: scene.folder, environment: scene.environment
            ).output().expectSuccess()
        }
        for _ in 0..<5 {
            if let server = try await SSHServer(scene, port: Int.random(in: 20_000...60_000)) {
                return server
            }
        }
        Issue.record("sshd does not start")
        throw CancellationError()
    }

    private init?(_ scene: Scene, port: Int) async throws {
        self.port = port
        let folder = scene.folder
        client = folder.path("ssh")
        let config = """
            Port \(port)
            ListenAddress 127.0.0.1
            HostKey \(folder.path("host"))
            AuthorizedKeysFile \(folder.path("user.pub"))
            PidFile none
            UsePAM no
            StrictModes no
            PasswordAuthentication no
            PermitRootLogin prohibit-password

            """
        try Data(config.utf8).write(to: folder.url.appendingPathComponent("sshd_config"))
        let hostKey = try String(contentsOfFile: folder.path("host.pub"), encoding: .utf8)
        try Data("[127.0.0.1]:\(port) \(hostKey)".utf8)
            .write(to: folder.url.appendingPathComponent("known_hosts"))
        let script = """
            #!/bin/sh
            exec /usr/bin/ssh -F /dev/null -i '\(folder.path("user"))' \\
                -o UserKnownHostsFile='\(folder.path("known_hosts"))' -o IdentitiesOnly=yes "$@"

            """
        try Data(script.utf8).write(to: URL(filePath: client))
        try scene.chmod("ssh", 0o755)
        let log = folder.path("sshd.log")
        daemon = try Daemon([
            Self.program, "-D", "-E", log, "-f", folder.path("sshd_config"),
        ])
        let daemon = daemon
        let answers = await eventually(within: .seconds(20)) {
            if !daemon.isRunning() { return true }
            let text = try? String(contentsOfFile: log, encoding: .utf8)
            return text?.contains("Server listening") ?? false
        }
        guard answers, daemon.isRunning() else {
            await stop()
            return nil
        }
    }

    func stop() async { daemon.stop() }

    /// sshd closes all descriptors that it inherits, and with them the one by which Foundation's
    /// `Process` sees its children end: it would wait for sshd without end, and for all others too.
    private final class Daemon: Sendable {
        private let pid: pid_t

        init(_ command: [String]) throws {
            var arguments = command.map { strdup($0) }
            defer { for argument in arguments { free(argument) } }
            arguments.append(nil)
            var pid: pid_t = 0
            guard posix_spawn(&pid, command[0], nil, nil, arguments, environ) == 0 else {
                throw CocoaError(.executableNotLoadable)
            }
            self.pid = pid
        }

        func stop() {
            guard isRunning() else { return }
            kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }

        /// Looks without reaping: the pid stays ours until ``stop()``.
        func isRunning() -> Bool {
            var info = siginfo_t()
            let status = waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT)
            return status == 0 && info.si_signo == 0
        }
    }

    /// The address of a file in the scene's folder.
    func url(_ path: String) -> String { "ssh://127.0.0.1:\(port)\(path)" }
}
