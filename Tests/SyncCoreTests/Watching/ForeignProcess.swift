import Foundation

/// A writer that knows nothing of syncd, in a process of its own.
final class ForeignProcess {
    private let process = Process()

    /// Runs `script` with Python's sqlite3 module; `arguments` are in `sys.argv`.
    static func python(_ script: String, _ arguments: String...) throws -> ForeignProcess {
        try ForeignProcess("python3", ["-c", script] + arguments)
    }

    /// Runs `sql` with the command line shell of SQLite, and waits for it.
    static func shell(_ path: String, _ sql: String) throws {
        let process = try ForeignProcess("sqlite3", ["-cmd", ".timeout 10000", path, sql])
        process.wait()
    }

    private init(_ name: String, _ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    deinit { if process.isRunning { kill() } }

    var isRunning: Bool { process.isRunning }

    /// Its exit status.
    @discardableResult
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// As the kernel does it when memory is short.
    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
