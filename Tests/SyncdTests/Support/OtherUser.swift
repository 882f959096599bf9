import Foundation
import Glibc
import Synchronization

/// A program in Python that runs as another user beside the test, and talks to a daemon. Killed
/// with its owner.
final class OtherUser {
    /// `Daemon(socket)` has `call(method, **parameters)`, `send` and `receive`.
    private static let prelude = """
        import json, os, socket, sqlite3, sys, threading, time
        class Daemon:
            def __init__(self, path):
                self.s = socket.socket(socket.AF_UNIX); self.s.settimeout(120); self.s.connect(path)
                self.rest = b""
            def send(self, method, more=False, **parameters):
                m = {"method": "org.syncd.Store." + method, "parameters": parameters}
                if more: m["more"] = True
                self.s.sendall(json.dumps(m).encode() + b"\\0")
            def receive(self):
                while b"\\0" not in self.rest:
                    part = self.s.recv(1 << 20)
                    if not part: raise EOFError
                    self.rest += part
                one, self.rest = self.rest.split(b"\\0", 1)
                return one.decode()
            def call(self, method, **parameters):
                self.send(method, **parameters)
                return self.receive()
        def say(*words): print(*words, flush=True)
        """

    private let process: Process
    private let output: Pipe
    private let said = Said()

    private final class Said: Sendable { let text = Mutex("") }

    /// Starts the program; `sys.argv[1]` is the daemon's socket.
    init(_ uid: UInt32, _ program: String, _ daemon: TestDaemon, _ arguments: [String] = []) throws
    {
        let (process, output) = (Process(), Pipe())
        (self.process, self.output) = (process, output)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments =
            [
                "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", "/usr/bin/python3",
                "-c", Self.prelude + "\n" + program, daemon.socket,
            ] + arguments
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        output.fileHandleForReading.readabilityHandler = { [said] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            said.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// What it has printed.
    var lines: [String] { said.text.withLock { $0.split(separator: "\n").map(String.init) } }

    var isRunning: Bool { process.isRunning }

    /// Waits until it has printed a line.
    func prints(_ line: String) async throws {
        try await eventually("another user's program prints \(line): \(lines)") {
            if !isRunning, !lines.contains(line) { throw Failure("it ended: \(lines)") }
            return lines.contains(line)
        }
    }
}
