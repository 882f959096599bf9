import Foundation
import SyncCore

#if canImport(Glibc)
    import Glibc
#endif

/// Where the tour happens: a temporary folder with a copy of the database, and a private daemon on
/// a private socket. ``close()`` ends the daemon and removes the folder; the original is only read.
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
                hint: "Run: apt-get install sqlite3")
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

    /// The daemon beside this program, as it was built or installed with it; else the one on the
    /// PATH.
    private static func findDaemon() throws -> String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = own.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("syncd")
                .path
        }
        if let beside, FileManager.default.isExecutableFile(atPath: beside) { return beside }
        if let found = ChildProcess.find("syncd") { return found }
        throw SyncError(
            .refused, "the program syncd is not beside synctool, nor on the PATH",
            operation: "demo", hint: "Run: make install")
    }

    /// Copies a database as it is at this moment, without changing it.
    func copy(_ original: String) async throws {
        _ = try await ChildProcess.run(
            sqlite3, ["-readonly", original, ".backup '\(path)'"], in: folder)
    }

    /// Runs SQL in a process of its own, as any other program would.
    @discardableResult
    func sqlite(_ statements: String) async throws -> [[String]] {
        let text = try await ChildProcess.run(
            sqlite3,
            [
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

    /// What the daemon wrote to its log, for an error message.
    var daemonLog: String {
        let log = folder.appendingPathComponent("syncd.log")
        return (try? String(contentsOf: log, encoding: .utf8)) ?? ""
    }

    func close() {
        killDaemon()
        try? FileManager.default.removeItem(at: folder)
    }
}
