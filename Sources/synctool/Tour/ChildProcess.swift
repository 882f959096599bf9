import Foundation
import SyncCore

/// The processes of the tour.
enum ChildProcess {
    /// Finds a program in the PATH; nil when there is none.
    static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end.
    ///
    /// - Returns: its standard output.
    /// - Throws: ``SyncError`` `refused` with its error output when its status is not 0.
    static func run(
        _ program: String, with arguments: [String], in folder: URL
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
        // The output of these programs fits in a pipe: reading one pipe after the other cannot
        // block.
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let messages = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let name = URL(fileURLWithPath: program).lastPathComponent
            let words = String(decoding: messages, as: UTF8.self)
            throw SyncError(
                .refused,
                "\(name) failed: \(words.trimmingCharacters(in: .whitespacesAndNewlines))",
                operation: "demo", hint: "Run the tour on its own database: synctool demo")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
