import Foundation
import SyncTesting
import Testing

/// The public certification suite (PyPI package `varlink`), against our server and our client.
@Suite("Varlink certification", .timeLimit(.minutes(3)))
struct CertificationTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The interpreter that has the suite; made when it is missing.
    private static func python() async throws -> URL {
        let script = Process()
        script.executableURL = package.appending(path: "scripts/python-venv.sh")
        try script.run()
        await blocking { script.waitUntilExit() }
        try #require(script.terminationStatus == 0, "scripts/python-venv.sh failed")
        return package.appending(path: ".venv/bin/python")
    }

    /// Our helper, built beside the tests.
    private static func helper() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folders = [
            URL(filePath: tests).deletingLastPathComponent(),
            package.appending(path: ".build/debug"),
        ]
        let candidates = folders.map { $0.appending(path: "varlink-certification") }
        return try #require(
            candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }

    private static func process(_ program: URL, _ arguments: [String]) -> (Process, Pipe) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        return (process, output)
    }

    @Test func serverPasses() async throws {
        let directory = try TemporaryFolder()
        let address = "\(try directory.address())"
        let (server, _) = Self.process(try Self.helper(), ["--varlink=\(address)"])
        let input = Pipe()
        server.standardInput = input
        try server.run()
        // SIGKILL: the child inherits a signal mask that may hold SIGTERM back.
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        let path = try directory.address().path
        try #require(await eventually { FileManager.default.fileExists(atPath: path) })

        let suite = ["-m", "varlink.tests.test_certification", "--client", "--varlink=\(address)"]
        let (client, output) = Self.process(try await Self.python(), suite)
        try client.run()
        let text = await blocking {
            defer { client.waitUntilExit() }
            return String(
                decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        #expect(client.terminationStatus == 0, "\(text)")
        #expect(text.contains("Certification passed"))

        try input.fileHandleForWriting.close()
        await blocking { server.waitUntilExit() }
        #expect(server.terminationStatus == 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func clientPasses() async throws {
        let directory = try TemporaryFolder()
        let address = "\(try directory.address())"
        let suite = ["-m", "varlink.tests.test_certification", "--varlink=\(address)"]
        let (server, _) = Self.process(try await Self.python(), suite)
        try server.run()
        // SIGKILL: the child inherits a signal mask that may hold SIGTERM back.
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        let path = try directory.address().path
        try #require(
            await eventually { (try? RawClient(directory.address())) != nil },
            "the suite does not listen on \(path)")

        let (client, output) = Self.process(
            try Self.helper(), ["--client", "--varlink=\(address)"])
        try client.run()
        let text = await blocking {
            defer { client.waitUntilExit() }
            return String(
                decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        #expect(client.terminationStatus == 0, "\(text)")
        #expect(text.contains("Certification passed"))
    }
}
