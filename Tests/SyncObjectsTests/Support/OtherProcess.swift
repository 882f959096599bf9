import Foundation
import SyncTesting
import Testing

/// A process that a test started: bounded in time, and gone with the test.
final class OtherProcess: Sendable {
    private let process = Process()

    init(
        _ program: String, _ arguments: [String], input: FileHandle = .nullDevice,
        output: FileHandle = .nullDevice, errors: FileHandle = .nullDevice
    ) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    deinit { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    var isRunning: Bool { process.isRunning }

    /// Kills it, as a crash would, and waits for its end.
    func kill() async {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        _ = await eventually { !self.process.isRunning }
    }

    /// Waits for its end.
    @discardableResult
    func status() async -> Int32 {
        let hasEnded = await eventually { !self.process.isRunning }
        if !hasEnded { await kill() }
        return process.terminationStatus
    }

    /// The products of the build, beside this test runner.
    static func product(_ name: String) -> String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name)
            .path
    }
}
