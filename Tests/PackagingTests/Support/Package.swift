import Foundation

/// The package under test: its folder, the programs that the build made, and its scripts.
enum Package {
    /// Where this test runner lies: the build's products.
    static let products: URL = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent()
    }()

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(of name: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
    }

    /// How a program ended, and what it wrote to stdout and stderr together.
    struct Ended {
        let status: Int32
        let text: String
    }

    /// Runs a program in the folder of the package, with these variables and no others.
    static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> Ended {
        let process = Process()
        let output = Pipe()
        process.executableURL =
            program.hasPrefix("/") ? URL(fileURLWithPath: program) : root.appending(path: program)
        process.arguments = arguments
        process.currentDirectoryURL = root
        process.environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Ended(status: process.terminationStatus, text: String(decoding: data, as: UTF8.self))
    }
}
