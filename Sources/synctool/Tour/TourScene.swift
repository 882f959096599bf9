import Foundation
import SyncCore

#if canImport(Glibc)
    import Glibc
#endif

/// The environment of the tour: a temporary folder with a copy of the database, and a private
/// daemon with its own socket. ``close()`` ends the daemon and removes the folder. The original
/// database is only read.
final class TourScene {
    let folder: URL
    let database: String
    let socket: String
    private let syncd: String
    private let sqlite3: String
    private var daemon: Process?

    init(named name: String) throws {
        guard let sqlite3 = ChildProcess.find("sqlite3") else {
            throw SyncError(
                .refused, "the tour needs the sqlite3 shell", operation: "demo",
                hint: "Install it: apt-get install sqlite3")
        }
        self.sqlite3 = sqlite3
        syncd = try Self.findDaemon()
        let suffix = String(UInt32.random(in: 0 ... .max), radix: 36)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "syncd-tour-\(suffix)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        database = name
        socket = folder.appendingPathComponent("syncd.sock").path
    }

    var path: String { folder.appendingPathComponent(database).path }

    /// The daemon in the folder of this program, otherwise the one in the PATH.
    private static func findDaemon() throws -> String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = own.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("syncd")
                .path
        }
        if let beside, FileManager.default.isExecutableFile(atPath: beside) { return beside }
        if let found = ChildProcess.find("syncd") { return found }
        throw SyncError(
            .refused, "syncd is neither in the folder of synctool nor in the PATH",
            operation: "demo",
            hint: "Build or install it: make build, or make install")
    }

    /// Copies a database without changing it.
    func copy(_ original: String) async throws {
        _ = try await ChildProcess.run(
            sqlite3, with: ["-readonly", original, ".backup '\(path)'"], in: folder)
    }

    /// Runs SQL in a separate process, like any other writer.
    @discardableResult
    func sqlite(_ statements: String) async throws -> [[String]] {
        let text = try await ChildProcess.run(
            sqlite3,
            with: [
                "-bail", "-cmd", ".timeout 5000", "-cmd", "PRAGMA foreign_keys = ON",
                "-separator", "\u{1F}", database, statements,
            ], in: folder)
        return text.split(separator: "\n").map { line in
            line.split(separator: "\u{1F}", omittingEmptySubsequences: false).map(String.init)
        }
    }

    func startDaemon() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: syncd)
        process.arguments = ["--user", "--socket", socket]
        var environment = ProcessInfo.processInfo.environment
        for name in environment.keys where name.hasPrefix("SYNCD_") { environment[name] = nil }
        environment["XDG_CONFIG_HOME"] = folder.appendingPathComponent("config").path
        environment["XDG_STATE_HOME"] = folder.appendingPathComponent("state").path
        environment["XDG_RUNTIME_DIR"] = folder.path
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let log = folder.appendingPathComponent("syncd.log")
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        daemon = process
    }

    /// Ends the daemon as a crash would.
    func killDaemon() {
        guard let process = daemon else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        daemon = nil
    }

    /// The log of the daemon, for an error message.
    var daemonLog: String {
        let log = folder.appendingPathComponent("syncd.log")
        return (try? String(contentsOf: log, encoding: .utf8)) ?? ""
    }

    func close() {
        killDaemon()
        try? FileManager.default.removeItem(at: folder)
    }
}
