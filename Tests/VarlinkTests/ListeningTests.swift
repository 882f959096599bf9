import Foundation
import SyncTesting
import Testing
import Varlink

@Suite("Varlink sockets", .timeLimit(.minutes(2)))
struct ListeningTests {
    private static func server() throws -> VarlinkServer {
        try VarlinkServer(info: .test, interfaces: [Ping.interface()])
    }

    private static func ping(_ address: VarlinkAddress) async throws -> Bool {
        let client = try await VarlinkClient.connect(to: address)
        return try await client.call("org.example.ping.Ping", with: ["text": "x"]) == ["text": "x"]
    }

    @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
    func givesTheSocketItsMode(mode: UInt32) async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let server = try Self.server()
        try await server.listen(at: address, mode: mode)
        let attributes = try FileManager.default.attributesOfItem(atPath: address.path)
        #expect(attributes[.posixPermissions] as? Int == Int(mode))
        #expect(try await Self.ping(address))
        await server.stop()
        #expect(!FileManager.default.fileExists(atPath: address.path))
    }

    @Test func replacesTheSocketOfADeadServer() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        // A process that ends without cleaning up.
        let code =
            "import socket,sys;s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen()"
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", code, address.path]
        try process.run()
        await blocking { process.waitUntilExit() }
        #expect(FileManager.default.fileExists(atPath: address.path))
        let server = try Self.server()
        try await server.listen(at: address)
        #expect(try await Self.ping(address))
        await server.stop()
    }

    @Test func leavesTheSocketOfALivingServer() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let (first, second) = (try Self.server(), try Self.server())
        try await first.listen(at: address)
        await #expect(throws: TransportError(.addressInUse, "")) {
            try await second.listen(at: address)
        }
        await second.stop()
        #expect(try await Self.ping(address))
        await first.stop()
    }

    @Test func ofServersThatStartAtOnceOneListens() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let servers = try (0..<8).map { _ in try Self.server() }
        let started = await withTaskGroup(of: Bool.self) { group in
            for server in servers {
                group.addTask { (try? await server.listen(at: address)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(started == 1)
        #expect(try await Self.ping(address))
        for server in servers { await server.stop() }
    }

    @Test func leavesOtherFilesAlone() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        try Data("precious".utf8).write(to: URL(filePath: address.path))
        let server = try Self.server()
        await #expect(throws: TransportError(.addressInUse, "")) {
            try await server.listen(at: address)
        }
        #expect(try String(contentsOfFile: address.path, encoding: .utf8) == "precious")
    }

    @Test func removesOnlyItsOwnSocket() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let (first, second) = (try Self.server(), try Self.server())
        try await first.listen(at: address)
        try FileManager.default.removeItem(atPath: address.path)
        try await second.listen(at: address)
        await first.stop()
        #expect(try await Self.ping(address))
        await second.stop()
    }

    @Test func listensOnAnInheritedSocket() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let held = try HeldSocket(address)
        let server = try Self.server()
        try await server.listen(onInherited: dup(held.descriptor))
        #expect(try await Self.ping(address))
        await server.stop()
        #expect(FileManager.default.fileExists(atPath: address.path))
    }

    @Test func pathsHave107Bytes() async throws {
        let directory = try TemporaryFolder()
        let fill = 107 - directory.path.utf8.count - 1
        let address = try directory.address(String(repeating: "s", count: fill))
        #expect(address.path.utf8.count == 107)
        let server = try Self.server()
        try await server.listen(at: address)
        #expect(try await Self.ping(address))
        await server.stop()
        #expect(throws: TransportError(.invalidAddress, "")) {
            try directory.address(String(repeating: "s", count: fill + 1))
        }
    }

    @Test func knowsVarlinkAddresses() throws {
        #expect(try VarlinkAddress("unix:/run/x").path == "/run/x")
        #expect(try VarlinkAddress("unix:/run/x;mode=0600").path == "/run/x")
        #expect(try VarlinkAddress("/run/x").description == "unix:/run/x")
        #expect(try VarlinkAddress("unix:@name").isAbstract)
        for text in ["", "unix:", "tcp:127.0.0.1:1", "unix:/a\0b"] {
            #expect(throws: TransportError(.invalidAddress, "")) { try VarlinkAddress(text) }
        }
    }

    @Test func abstractNamesWork() async throws {
        let address = try VarlinkAddress("unix:@varlink-test-\(UInt32.random(in: .min ... .max))")
        let server = try Self.server()
        try await server.listen(at: address)
        #expect(try await Self.ping(address))
        await #expect(throws: TransportError(.addressInUse, "")) {
            try await Self.server().listen(at: address)
        }
        await server.stop()
    }

    @Test func saysWhyNobodyAnswers() async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        await #expect(throws: TransportError(.cannotConnect, "")) {
            try await VarlinkClient.connect(to: address)
        }
        await #expect(throws: TransportError(.cannotListen, "")) {
            try await Self.server().listen(at: VarlinkAddress("\(directory.path)/no/such"))
        }
    }
}
