import Foundation
import SyncTesting
import Testing
import Varlink

@Suite("A server that stops", .timeLimit(.minutes(2)))
struct StoppingTests {
    private static func serve(_ held: HeldSocket) async throws -> VarlinkServer {
        let server = try VarlinkServer(info: .test, interfaces: [Ping.interface()])
        try await server.listen(onInherited: dup(held.descriptor))
        return server
    }

    @Test func clientsAreAnsweredThroughRestarts() async throws {
        let directory = try TemporaryFolder()
        defer { directory.remove() }
        let address = try directory.address()
        let held = try HeldSocket(address)
        var server = try await Self.serve(held)
        let isDone = Shared(false)
        let answered = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<4 {
                group.addTask {
                    var count = 0
                    while !isDone.value {
                        let client = try RawClient(address)
                        // Some take a moment between connecting and calling.
                        if count % 3 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                        client.send(Ping.call("\(number)", count % 2 == 0 ? "Ping" : "Slow"))
                        let reply = await client.receive()
                        #expect(reply == #"{"parameters":{"text":"\#(number)"}}"#)
                        if reply == nil { break }
                        count += 1
                    }
                    return count
                }
            }
            for _ in 0..<60 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...8)))
                await server.stop(answeringFor: .seconds(10))
                #expect(server.connectionCount == 0)
                server = try await Self.serve(held)
            }
            isDone.change { $0 = true }
            return try await group.reduce(0, +)
        }
        #expect(answered > 100)
        await server.stop()
    }

    @Test func onlyWhoWaitsForAnAnswerIsWaitedFor() async throws {
        let (began, release) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        var interface = try Ping.interface(watch: { _, stream in
            stream.send(["number": 1], continues: true)
        })
        interface.on("Slow") { call in
            began.continuation.finish()
            for await _ in release.stream {}
            return ["text": call.parameters["text"] ?? nil]
        }
        try await withServer(interface) { server, address in
            let (idle, streaming) = (try RawClient(address), try RawClient(address))
            let calling = try RawClient(address)
            idle.send(Ping.call("idle"))
            #expect(await idle.receive() != nil)
            streaming.send(
                CallMessage(
                    method: "org.example.ping.Watch", parameters: ["count": 1], more: true))
            #expect(await streaming.receive() != nil)
            calling.send(Ping.call("slow", "Slow"))
            for await _ in began.stream {}
            async let stopped: Void = server.stop(answeringFor: .seconds(60))
            #expect(await idle.receive() == nil)
            #expect(await streaming.receive() == nil)
            release.continuation.finish()
            #expect(await calling.receive() == #"{"parameters":{"text":"slow"}}"#)
            #expect(await calling.receive() == nil)
            await stopped
        }
    }

    @Test func whoDoesNotCallIsWaitedForNoLongerThanTheTime() async throws {
        try await withServer(try Ping.interface()) { server, address in
            let silent = try RawClient(address)
            while server.connectionCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
            await server.stop(answeringFor: .milliseconds(30))
            #expect(await silent.receive() == nil)
        }
    }

    /// Before, the connection was closed while the socket had taken only a part of the reply.
    @Test func aClientThatEndedItsSideGetsTheWholeReply() async throws {
        let text = String(repeating: "x", count: 900_000)
        try await withServer(try Ping.interface()) { _, address in
            let client = try RawClient(address)
            client.send(Ping.call(text))
            client.endInput()
            try await Task.sleep(for: .milliseconds(100))
            #expect(await client.receive() == #"{"parameters":{"text":"\#(text)"}}"#)
            #expect(await client.receive() == nil)
        }
    }
}
