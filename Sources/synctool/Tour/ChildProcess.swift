import Foundation
import SyncCore

/// Real processes for the tour: those that write, and the daemon.
enum ChildProcess {
    /// Finds a program on the PATH; nil when it is not there.
    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end and answers what it printed.
    ///
    /// - Throws: ``SyncError`` `refused` with its error output when its status is not 0.
    static func run(
        _ program: String, _ arguments: [String], in folder: URL
    ) async throws -> String {
        let process = Process()
        let output = Pipe()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // What these programs print fits in a pipe: reading one to its end and then the other
        // cannot block.
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let complaint = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let name = URL(fileURLWithPath: program).lastPathComponent
            let words = String(decoding: complaint, as: UTF8.self)
            throw SyncError(
                .refused,
                "\(name) failed: \(words.trimmingCharacters(in: .whitespacesAndNewlines))",
                operation: "demo")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
