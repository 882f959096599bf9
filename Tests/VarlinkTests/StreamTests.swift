import Foundation
import SyncTesting
import Testing
import Varlink

@Suite("Varlink streams", .timeLimit(.minutes(2)))
struct StreamTests {
    private static let watch = CallMessage(
        method: "org.example.ping.Watch", parameters: ["count": 0], more: true)

    /// Serves `Watch` by collecting the streams.
    private static func withStreams(
        _ limits: ServerLimits = ServerLimits(),
        _ body: (Shared<[ReplyStream]>, VarlinkAddress) async throws -> Void
    ) async throws {
        let streams = Shared<[ReplyStream]>([])
        let interface = try Ping.interface(watch: { _, stream in
            streams.change { $0.append(stream) }
        })
        try await withServer(interface, limits: limits) { _, address in
            try await body(streams, address)
        }
    }

    private static func numbered(_ number: Int, padding: Int = 0) -> EncodedReply {
        EncodedReply(
            [
                "number": .integer(Int64(number)),
                "p": .string(String(repeating: "x", count: padding)),
            ],
            continues: true)
    }

    @Test func broadcastsToAllInOrder() async throws {
        try await Self.withStreams { streams, address in
            let clients = try (0..<20).map { _ in try RawClient(address) }
            for client in clients { client.send(Self.watch) }
            try #require(await eventually { streams.value.count == 20 })
            for number in 0..<200 {
                let refused = ReplyStream.broadcast(Self.numbered(number), to: streams.value)
                #expect(refused.isEmpty)
                if number % 50 == 0 { streams.value[7].send(["number": -1], continues: true) }
            }
            for stream in streams.value { stream.finish(["number": 200]) }
            for client in clients {
                var numbers: [Int64] = []
                while let reply = try await client.reply() {
                    numbers.append(try #require(reply.parameters["number"]?.integer))
                    if !reply.continues { break }
                }
                #expect(numbers.filter { $0 >= 0 } == Array(0...200))
                // The connection is free for the next call.
                client.send(Ping.call("x"))
                #expect(try await client.reply()?.parameters == ["text": "x"])
            }
        }
    }

    /// What a callback holds, holds the stream in turn: a finished one would never be freed.
    @Test func dropsItsCallbacksWithItsLastReply() async throws {
        final class Holder: Sendable {}
        try await Self.withStreams { streams, address in
            let client = try RawClient(address)
            client.send(Self.watch)
            try #require(await eventually { streams.value.count == 1 })
            let stream = streams.value[0]
            weak var held: Holder?
            func keep() {
                let holder = Holder()
                stream.onClose { _ = holder }
                stream.onDrained { _ = holder }
                held = holder
            }
            keep()
            #expect(held != nil)
            stream.finish()
            try #require(await eventually { held == nil })
            // The connection is open, and nothing is kept any more.
            keep()
            #expect(held == nil)
            client.send(Ping.call("x"))
            #expect(try await client.reply() != nil)
        }
    }

    @Test func keepsTheOrderOfManyThreads() async throws {
        try await Self.withStreams { streams, address in
            let client = try RawClient(address)
            client.send(Self.watch)
            try #require(await eventually { streams.value.count == 1 })
            let stream = streams.value[0]
            for thread in 0..<4 {
                Thread {
                    for number in 0..<500 {
                        stream.send(Self.numbered(thread * 1000 + number))
                    }
                }.start()
            }
            var last = [0: -1, 1: -1, 2: -1, 3: -1]
            for _ in 0..<2000 {
                let reply = try await client.reply()
                let number = Int(try #require(reply?.parameters["number"]?.integer))
                #expect(last[number / 1000] == number % 1000 - 1)
                last[number / 1000] = number % 1000
            }
        }
    }

    @Test func refusesOverTheBoundAndTellsWhenDrained() async throws {
        var limits = ServerLimits()
        limits.queuedBytesMax = 200_000
        try await Self.withStreams(limits) { streams, address in
            let (slow, quick) = (try RawClient(address), try RawClient(address))
            slow.send(Self.watch)
            try #require(await eventually { streams.value.count == 1 })
            quick.send(Self.watch)
            try #require(await eventually { streams.value.count == 2 })
            let (slowStream, quickStream) = (streams.value[0], streams.value[1])
            let drained = Shared(0)
            slowStream.onDrained { drained.change { $0 += 1 } }
            // Nobody reads `slow`: its socket and then its bound fill up.
            var sent = 0
            while true {
                let refused = ReplyStream.broadcast(
                    Self.numbered(sent, padding: 5000), to: [slowStream, quickStream])
                #expect(try await quick.reply()?.parameters["number"] == .integer(Int64(sent)))
                if refused == [slowStream] { break }
                #expect(refused.isEmpty)
                sent += 1
                try #require(sent < 10_000)
            }
            #expect(!slowStream.isWritable)
            #expect(slowStream.send(Self.numbered(0)) == .overBound)
            #expect(slowStream.queuedBytes > 100_000 && slowStream.queuedBytes < 500_000)
            #expect(drained.value == 0)
            for number in 0..<sent {
                #expect(try await slow.reply()?.parameters["number"] == .integer(Int64(number)))
            }
            #expect(await eventually { drained.value == 1 })
            #expect(slowStream.isWritable)
            // It goes on from where its sender says.
            slowStream.send(["number": -7], continues: true)
            #expect(try await slow.reply()?.parameters == ["number": -7])
            #expect(drained.value == 1)
        }
    }

    @Test func drainedNeverGetsLost() async throws {
        var limits = ServerLimits()
        limits.queuedBytesMax = 20_000
        try await Self.withStreams(limits) { streams, address in
            let client = try RawClient(address)
            client.send(Self.watch)
            try #require(await eventually { streams.value.count == 1 })
            let stream = streams.value[0]
            let count = 20_000
            let next = Shared(0)
            // Sends until refused; goes on with the refused one when drained.
            let pump: @Sendable () -> Void = {
                next.change { next in
                    while next < count, stream.send(Self.numbered(next, padding: 100)) == .accepted
                    {
                        next += 1
                    }
                }
            }
            stream.onDrained(pump)
            pump()
            let received = await blocking {
                var received = 0
                while received < count, let text = client.receiveBlocking() {
                    guard text.contains("\"number\":\(received),") else { break }
                    received += 1
                }
                return received
            }
            #expect(received == count)
        }
    }

    @Test func tellsWhenTheClientLeaves() async throws {
        try await Self.withStreams { streams, address in
            var client: RawClient? = try RawClient(address)
            client?.send(Self.watch)
            try #require(await eventually { streams.value.count == 1 })
            let stream = streams.value[0]
            let closed = Shared(0)
            stream.onClose { closed.change { $0 += 1 } }
            client = nil
            #expect(await eventually { closed.value == 1 })
            #expect(stream.send(Self.numbered(1)) == .closed)
            #expect(ReplyStream.broadcast(Self.numbered(1), to: [stream]).isEmpty)
            stream.onClose { closed.change { $0 += 1 } }
            #expect(await eventually { closed.value == 2 })
        }
    }

    @Test func tellsWhenAClientThatClosedItsSideLeaves() async throws {
        try await Self.withStreams { streams, address in
            var client: RawClient? = try RawClient(address)
            client?.send(Self.watch)
            client?.endInput()
            try #require(await eventually { streams.value.count == 1 })
            let closed = Shared(false)
            streams.value[0].onClose { closed.change { $0 = true } }
            streams.value[0].send(["number": 1], continues: true)
            #expect(try await client?.reply()?.parameters == ["number": 1])
            client = nil
            #expect(await eventually { closed.value })
        }
    }

    @Test func stopEndsStreams() async throws {
        let closed = Shared(false)
        let streams = Shared(0)
        let interface = try Ping.interface(watch: { _, stream in
            stream.onClose { closed.change { $0 = true } }
            streams.change { $0 += 1 }
        })
        let client: RawClient = try await withServer(interface) { _, address in
            let client = try RawClient(address)
            client.send(Self.watch)
            #expect(await eventually { streams.value == 1 })
            return client
        }
        #expect(await client.receive() == nil)
        #expect(await eventually { closed.value })
    }

    @Test func anErrorEndsTheStream() async throws {
        let interface = try Ping.interface(watch: { call, stream in
            stream.send(["number": 1], continues: true)
            throw VarlinkError("org.example.ping.Failed", parameters: ["why": "later"])
        })
        try await withServer(interface) { _, address in
            let client = try RawClient(address)
            client.send(Self.watch)
            #expect(
                try await client.reply() == ReplyMessage(parameters: ["number": 1], continues: true)
            )
            #expect(try await client.reply()?.error == "org.example.ping.Failed")
            client.send(Ping.call("x"))
            #expect(try await client.reply()?.parameters == ["text": "x"])
        }
    }
}
