import Foundation
import SyncTesting

/// A temporary folder with a small database `music.db`, and the programs that the build made.
final class Workplace {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let products = URL(
        fileURLWithPath: (try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/exe")) ?? ""
    ).deletingLastPathComponent()

    private let temporary: TemporaryFolder
    private var daemon: Process?

    var folder: URL { temporary.url }

    init() throws {
        temporary = try TemporaryFolder()
        try Self.sql(
            path,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
            CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INTEGER);
            INSERT INTO Artist VALUES (50, 'Metallica');
            INSERT INTO Album VALUES (348, 'Load', 50);
            """)
    }

    deinit {
        if let daemon, daemon.isRunning { kill(daemon.processIdentifier, SIGKILL) }
    }

    var path: String { folder.appendingPathComponent("music.db").path }
    var socket: String { folder.appendingPathComponent("s.sock").path }

    /// A process of its own writes to a database.
    static func sql(_ database: String, _ statements: String) throws {
        let status = try run(
            "/usr/bin/sqlite3", ["-bail", "-cmd", ".timeout 20000", database, statements]
        ).status
        guard status == 0 else { throw CocoaError(.executableLoad) }
    }

    /// Runs a program to its end; what it printed, stdout and stderr.
    static func run(
        _ program: String, _ arguments: [String]
    ) throws -> (status: Int32, text: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    /// Starts a daemon of its own; it ends with the folder.
    func startDaemon() async throws {
        let process = Process()
        process.executableURL = Self.products.appendingPathComponent("syncd")
        process.arguments = ["--user", "--socket", socket]
        process.environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PATH": "/usr/bin:/bin",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        daemon = process
        _ = await eventually { FileManager.default.fileExists(atPath: socket) }
    }
}
