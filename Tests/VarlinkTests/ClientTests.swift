import Foundation
import NIOCore
import NIOPosix
import SyncTesting
import Testing
import Varlink

@Suite("Varlink client", .timeLimit(.minutes(2)))
struct ClientTests {
    private static let ping = "org.example.ping.Ping"
    private static let watch = "org.example.ping.Watch"

    /// Counts to `count`, waiting for the reader.
    private static func counting(_ sent: Shared<Int>) throws -> ServedInterface {
        try Ping.interface(watch: { call, stream in
            let count = Int(call.parameters["count"]?.integer ?? 0)
            let pump: @Sendable () -> Void = {
                sent.change { next in
                    while next < count {
                        let reply: JSONObject = [
                            "number": .integer(Int64(next)),
                            "padding": .string(String(repeating: ".", count: 1000)),
                        ]
                        let result = stream.send(reply, continues: next < count - 1)
                        if result != .accepted { break }
                        next += 1
                    }
                }
            }
            stream.onDrained(pump)
            pump()
        })
    }

    /// A server that answers each connection with the same bytes, and then is silent.
    private static func withBytes(
        _ bytes: String, closes: Bool = false, _ body: (VarlinkAddress) async throws -> Void
    ) async throws {
        let directory = try TemporaryFolder()
        let address = try directory.address()
        let code = """
            import socket,sys
            s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen();kept=[]
            while True:
                c,_=s.accept()
                if not c.recv(4096): continue
                c.sendall(sys.argv[2].replace('%','\\0').encode())
                c.close() if sys.argv[3]=='1' else kept.append(c)
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", code, address.path, bytes, closes ? "1" : "0"]
        // Nobody reads what it says; and it must not hold the output of the tests.
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // SIGKILL: the child inherits a signal mask that may hold SIGTERM back.
        defer { kill(process.processIdentifier, SIGKILL) }
        var connected = false
        connected = await eventually {
            (try? await VarlinkClient.connect(to: address)) != nil
        }
        try #require(connected)
        try await body(address)
    }

    @Test func manyTasksShareAConnection() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<200 {
                    group.addTask {
                        let text = JSONValue.string("\(index)")
                        let method = index % 5 == 0 ? "org.example.ping.Slow" : Self.ping
                        return try await client.call(method, with: ["text": text])["text"] == text
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func readsAllRepliesOfASlowReader() async throws {
        let sent = Shared(0)
        var limits = ServerLimits()
        limits.queuedBytesMax = 50_000
        try await withServer(Self.counting(sent), limits: limits) { _, address in
            var clientLimits = ClientLimits()
            clientLimits.waitingRepliesMax = 16
            let client = try await VarlinkClient.connect(to: address, limits: clientLimits)
            var expected: Int64 = 0
            for try await reply in client.callMore(Self.watch, with: ["count": 3000]) {
                #expect(reply["number"] == .integer(expected))
                if expected == 0 {
                    // The socket is not read further than the bound: the server cannot finish.
                    try await Task.sleep(for: .milliseconds(200))
                    #expect(sent.value < 2500)
                }
                expected += 1
            }
            #expect(expected == 3000)
            #expect(try await client.call(Self.ping, with: ["text": "x"]) == ["text": "x"])
        }
    }

    @Test func leavingTheLoopClosesTheConnection() async throws {
        try await withServer(Self.counting(Shared(0))) { server, address in
            let client = try await VarlinkClient.connect(to: address)
            for try await reply in client.callMore(Self.watch, with: ["count": 100_000]) {
                #expect(reply["number"] == 0)
                break
            }
            #expect(await eventually { server.connectionCount == 0 })
            await #expect(throws: TransportError(.closed, "")) { try await client.call(Self.ping) }
        }
    }

    @Test func aSequenceKeepsItsClient() async throws {
        try await withServer(Self.counting(Shared(0))) { _, address in
            var count = 0
            let replies = try await VarlinkClient.connect(to: address)
                .callMore(Self.watch, with: ["count": 500])
            for try await _ in replies { count += 1 }
            #expect(count == 500)
        }
    }

    @Test func callbacksGetEveryReply() async throws {
        try await withServer(Self.counting(Shared(0))) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            let numbers = Shared<[Int64]>([])
            let ended = Shared(false)
            client.callMore(Self.watch, with: ["count": 100]) { result in
                guard case .success(let reply) = result else { return }
                numbers.change { $0.append(reply.parameters["number"]?.integer ?? -1) }
                if !reply.continues { ended.change { $0 = true } }
            }
            #expect(await eventually { ended.value })
            #expect(numbers.value == Array(0..<100))
        }
    }

    @Test func cancellationClosesTheConnection() async throws {
        let isWaiting = Shared(false)
        var interface = try Ping.interface()
        interface.on("Slow") { _ in
            isWaiting.change { $0 = true }
            try await Task.sleep(for: .seconds(60))
            return ["text": ""]
        }
        try await withServer(interface) { server, address in
            let client = try await VarlinkClient.connect(to: address)
            let task = Task { try await client.call("org.example.ping.Slow", with: ["text": ""]) }
            #expect(await eventually { isWaiting.value })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await eventually { server.connectionCount == 0 })
        }
    }

    @Test func aReplyThatDoesNotComeTimesOut() async throws {
        try await Self.withBytes("") { address in
            let client = try await VarlinkClient.connect(to: address)
            await #expect(throws: TransportError(.timedOut, "")) {
                try await client.call(Self.ping, timeout: .milliseconds(100))
            }
        }
    }

    @Test func aLostConnectionFailsWhatIsDue() async throws {
        try await Self.withBytes("{\"parameters\":{\"text\":\"a\"}}%", closes: true) { address in
            let client = try await VarlinkClient.connect(to: address)
            let reason = Shared<TransportError?>(nil)
            client.onClose { error in reason.change { $0 = error } }
            async let first = client.call(Self.ping, with: ["text": "a"])
            async let second = client.call(Self.ping, with: ["text": "b"])
            let results = (try? await first, try? await second)
            #expect((results.0 == nil) != (results.1 == nil))
            await #expect(throws: TransportError(.connectionLost, "")) {
                try await client.call(Self.ping)
            }
            #expect(await eventually { reason.value?.code == .connectionLost })
        }
    }

    @Test(arguments: [
        "nonsense%", "[]%", "{\"error\":1}%", "{\"parameters\":1}%",
        "{\"continues\":true}%", "%", "{\"continues\":7}%",
    ])
    func nonsenseEndsTheConnection(bytes: String) async throws {
        try await Self.withBytes(bytes) { address in
            let client = try await VarlinkClient.connect(to: address)
            await #expect(throws: TransportError(.malformedMessage, "")) {
                try await client.call(Self.ping)
            }
        }
    }

    @Test func aReplyWithoutParametersIsEmpty() async throws {
        try await Self.withBytes("{}%") { address in
            let client = try await VarlinkClient.connect(to: address)
            #expect(try await client.call(Self.ping) == [:])
        }
    }

    @Test func aTooLargeReplyEndsTheConnection() async throws {
        try await withServer(Ping.interface()) { _, address in
            var limits = ClientLimits()
            limits.messageBytesMax = 1000
            let client = try await VarlinkClient.connect(to: address, limits: limits)
            await #expect(throws: TransportError(.messageTooLarge, "")) {
                try await client.call(
                    Self.ping, with: ["text": .string(String(repeating: "x", count: 2000))])
            }
        }
    }

    @Test func connectionsShareAGroup() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await withServer(Ping.interface()) { server, address in
            var clients: [VarlinkClient] = []
            for _ in 0..<50 {
                clients.append(try await VarlinkClient.connect(to: address, group: group))
            }
            for (index, client) in clients.enumerated() {
                let text = JSONValue.string("\(index)")
                #expect(try await client.call(Self.ping, with: ["text": text]) == ["text": text])
            }
            clients = []
            #expect(await eventually { server.connectionCount == 0 })
        }
        try await group.shutdownGracefully()
    }
}
