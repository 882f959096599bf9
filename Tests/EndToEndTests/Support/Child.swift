import Foundation
import SyncTesting
import Synchronization

/// A real process, started in the test's folder, its outputs in files. Never outlives the test that
/// calls ``stop()``; a command that does not end in time is killed, and the test told so.
final class Child: Sendable {
    struct Output: Sendable {
        let status: Int32
        let text: String
        let errors: String

        var lines: [String] { text.split(separator: "\n").map(String.init) }
    }

    struct TookTooLong: Error, CustomStringConvertible {
        let command: String
        let output: Output
        var description: String {
            "\(command) did not end in time\n\(output.text)\n\(output.errors)"
        }
    }

    /// The bytes that it wrote to stdout so far.
    let outputFile: URL
    private let errorFile: URL
    private let command: String
    private let process = Process()

    /// - Parameter appending: a file that stdout is appended to, instead of one of its own.
    init(
        _ program: String, _ arguments: [String], in folder: Folder, environment: [String: String],
        appending: URL? = nil
    ) throws {
        let name = Self.nextName(URL(fileURLWithPath: program).lastPathComponent)
        outputFile = appending ?? folder.url.appendingPathComponent(name + ".out")
        errorFile = folder.url.appendingPathComponent(name + ".err")
        command = ([program] + arguments).joined(separator: " ")
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        // Closed here: `Process` is not released when it has ended, and with 1,300 descriptors
        // open, the search for the greatest one in `Process.run()` of Swift 6.3 reads beyond its
        // buffer.
        let output = try Self.appendingHandle(outputFile)
        defer { try? output.close() }
        let errors = try Self.appendingHandle(errorFile)
        defer { try? errors.close() }
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    private static let count = Atomic<Int>(0)

    private static func nextName(_ program: String) -> String {
        "\(count.wrappingAdd(1, ordering: .relaxed).newValue)-\(program)"
    }

    private static func appendingHandle(_ url: URL) throws -> FileHandle {
        let descriptor = open(url.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    var pid: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    var text: String { (try? String(contentsOf: outputFile, encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "" }

    /// Waits for its end; kills it when that does not come.
    func output(within limit: Duration = .seconds(60)) async throws -> Output {
        let inTime = await eventually(within: limit) { !self.process.isRunning }
        if !inTime { await stop() }
        let output = Output(status: process.terminationStatus, text: text, errors: errors)
        if !inTime { throw TookTooLong(command: command, output: output) }
        return output
    }

    /// Ends it with SIGKILL, as a crash would, and waits until it is gone.
    func stop() async {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        _ = await eventually(within: .seconds(20)) {
            !self.process.isRunning || hasEnded(self.process.processIdentifier)
        }
    }
}

/// Whether a process has ended with all of its threads, so that its locks and sockets are free, as
/// the kernel knows: `Process` does not as long as a child of it lives that has inherited its
/// descriptors.
private func hasEnded(_ process: Int32) -> Bool {
    guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
        return true
    }
    // proc(5): the state is the third field, the number of threads the twentieth.
    let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 17 && fields[0] == "Z" && fields[17] == "1"
}
