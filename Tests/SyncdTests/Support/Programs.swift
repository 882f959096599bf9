import Foundation
import Glibc

/// The programs that the package built, found beside the test itself.
enum Programs {
    static let directory: URL = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent()
    }()

    static var syncd: URL { directory.appendingPathComponent("syncd") }
    static var synctool: URL { directory.appendingPathComponent("synctool") }

    /// The package's folder.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}

/// A temporary folder that goes away with its owner.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/syncd-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
}

/// What a program said and how it ended.
struct Ended {
    let status: Int32
    let output: String
    let errors: String
}

/// Runs a program to its end.
@discardableResult
func run(
    _ program: String, _ arguments: [String], input: String? = nil,
    environment: [String: String] = [:]
) throws -> Ended {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    let errors = Pipe()
    process.standardOutput = output
    process.standardError = errors
    let stdin = Pipe()
    process.standardInput = stdin
    try process.run()
    if let input { try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
    try stdin.fileHandleForWriting.close()
    // Standard error is short in all tests: it fits the pipe while the output is read.
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    let complained = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return Ended(
        status: process.terminationStatus, output: String(decoding: said, as: UTF8.self),
        errors: String(decoding: complained, as: UTF8.self))
}

/// Runs SQL as another program would, and gives what it prints.
@discardableResult
func sqlite3(_ database: String, _ sql: String) throws -> String {
    let ended = try run("/usr/bin/sqlite3", ["-bail", database], input: ".timeout 10000\n" + sql)
    guard ended.status == 0 else { throw Failure("sqlite3: \(ended.errors)") }
    return ended.output.trimmingCharacters(in: .whitespacesAndNewlines)
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits until `condition` holds; a minute at most, because the machine may be busy.
func eventually(
    _ what: String, seconds: Double = 60, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw Failure("timed out: \(what)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
