import Foundation
import Glibc
import SyncTesting

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
    // `Process` keeps them.
    try output.fileHandleForReading.close()
    try errors.fileHandleForReading.close()
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

/// Waits for what must come; fails the test when it does not.
///
/// - Parameter what: made when the time is over: a log that is in it is whole.
func eventually(
    _ what: @autoclosure () -> String, seconds: Double = 60, _ condition: () async throws -> Bool
) async throws {
    let isThere = try await SyncTesting.eventually(
        within: .seconds(seconds), every: .milliseconds(10), condition)
    if !isThere { throw Failure("timed out: \(what())") }
}
