import Foundation
import SyncTesting
import Testing
import Varlink

/// What hostile or broken clients get, and that others do not notice.
@Suite("Varlink limits", .timeLimit(.minutes(2)))
struct LimitTests {
    /// What no client may send; named, because half a megabyte of it is no name for a log.
    enum Garbage: String, CaseIterable {
        case text = "garbage\0"
        case noMethod = "{}\0"
        case noObject = "[]\0"
        case nothing = "\0"
        case methodNotAString = "{\"method\":1}\0"
        case parametersNotAnObject = "{\"method\":\"a.B.c\",\"parameters\":[]}\0"
        case onewayNotABoolean = "{\"method\":\"a.B.c\",\"oneway\":1}\0"
        case http = "GET / HTTP/1.1\r\n\r\n\0"
        case notUTF8
        case nestedTooDeep

        var bytes: [UInt8] {
            switch self {
            case .notUTF8: [0xFF, 0]
            case .nestedTooDeep: Array(String(repeating: "[", count: 500_000).utf8) + [0]
            default: Array(rawValue.utf8)
            }
        }
    }

    @Test(arguments: Garbage.allCases)
    func endsTheConnectionOfAClientThatSendsGarbage(garbage: Garbage) async throws {
        let events = Shared<[ServerEvent]>([])
        let onEvent: @Sendable (ServerEvent) -> Void = { event in events.change { $0.append(event) }
        }
        try await withServer(Ping.interface(), onEvent: onEvent) { server, address in
            let good = try RawClient(address)
            let bad = try RawClient(address)
            bad.send(Ping.call("before"))
            bad.send(garbage.bytes)
            // What was right is answered first.
            #expect(try await bad.reply()?.parameters == ["text": "before"])
            #expect(await bad.receive() == nil)
            good.send(Ping.call("x"))
            #expect(try await good.reply()?.parameters == ["text": "x"])
            #expect(await eventually { server.connectionCount == 1 })
            #expect(events.value.count == 1)
        }
    }

    @Test func endsTheConnectionOfAClientThatSendsAnEndlessMessage() async throws {
        var limits = ServerLimits()
        limits.messageBytesMax = 100_000
        try await withServer(Ping.interface(), limits: limits) { _, address in
            let bad = try RawClient(address)
            let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let sent = await blocking {
                var chunks = 0
                while chunks < 100, bad.send(chunk) { chunks += 1 }
                return chunks
            }
            #expect(sent < 100)
            #expect(await bad.receive() == nil)
            let good = try RawClient(address)
            good.send(Ping.call(String(repeating: "x", count: 99_000)))
            #expect(try await good.reply()?.parameters["text"]?.string?.count == 99_000)
            good.send(Ping.call(String(repeating: "x", count: 100_000)))
            #expect(try await good.reply() == nil)
        }
    }

    @Test func endsTheConnectionOfAClientThatDripsHalfAMessage() async throws {
        var limits = ServerLimits()
        limits.messageTimeout = .milliseconds(300)
        try await withServer(Ping.interface(), limits: limits) { _, address in
            let idle = try RawClient(address)
            let bad = try RawClient(address)
            // Each whole message restarts the time; further bytes of one do not.
            for _ in 0..<3 {
                bad.send(Ping.call("x"))
                #expect(try await bad.reply()?.parameters == ["text": "x"])
            }
            bad.send(Array("{\"met".utf8))
            let closed = await eventually { !bad.send(Array(" ".utf8)) }
            #expect(closed)
            // A connection without half a message may be idle without a limit.
            try await Task.sleep(for: .milliseconds(400))
            idle.send(Ping.call("y"))
            #expect(try await idle.reply()?.parameters == ["text": "y"])
        }
    }

    @Test(arguments: [true, false])
    func closesConnectionsBeyondTheLimit(perUser: Bool) async throws {
        var limits = ServerLimits()
        if perUser { limits.connectionsPerUserMax = 3 } else { limits.connectionsMax = 3 }
        let refused = Shared(0)
        let onEvent: @Sendable (ServerEvent) -> Void = { event in
            if case .connectionRefused = event { refused.change { $0 += 1 } }
        }
        try await withServer(Ping.interface(), limits: limits, onEvent: onEvent) {
            server, address in
            var clients = try (0..<3).map { _ in try RawClient(address) }
            #expect(await eventually { server.connectionCount == 3 })
            for _ in 0..<5 {
                let fourth = try RawClient(address)
                #expect(await fourth.receive() == nil)
            }
            #expect(refused.value == 5)
            clients.removeLast()
            #expect(await eventually { server.connectionCount == 2 })
            let next = try RawClient(address)
            next.send(Ping.call("x"))
            #expect(try await next.reply()?.parameters == ["text": "x"])
            clients.removeAll()
        }
    }

    @Test func theConnectionsOfAUserHoldNoMoreThanTheirLimit() async throws {
        var limits = ServerLimits()
        limits.bytesPerUserMax = 1_000_000
        let dropped = Shared<[String]>([])
        let onEvent: @Sendable (ServerEvent) -> Void = { event in
            if case .connectionDropped(_, let reason) = event {
                dropped.change { $0.append(reason) }
            }
        }
        try await withServer(Ping.interface(), limits: limits, onEvent: onEvent) {
            server, address in
            let good = try RawClient(address)
            // Half messages: each is below the limit of one message.
            let half = [UInt8](repeating: UInt8(ascii: " "), count: 150_000)
            let clients = try (0..<20).map { _ in try RawClient(address) }
            for client in clients { client.send(half) }
            #expect(await eventually { dropped.value.count >= 12 })
            #expect(dropped.value.allSatisfy { $0.contains("hold more than 1000000 bytes") })
            good.send(Ping.call("x"))
            #expect(try await good.reply()?.parameters == ["text": "x"])
            #expect(await eventually { server.connectionCount <= 7 }, "six and the good one")
        }
    }

    @Test func whatAConnectionHeldIsFreeWhenItEnds() async throws {
        var limits = ServerLimits()
        limits.bytesPerUserMax = 400_000
        try await withServer(Ping.interface(), limits: limits) { server, address in
            let half = [UInt8](repeating: UInt8(ascii: " "), count: 150_000)
            // One after the other they never hold too much.
            for _ in 0..<20 {
                let client = try RawClient(address)
                client.send(half)
                client.send(Ping.call("x"))
                #expect(try await client.reply()?.parameters == ["text": "x"])
            }
            #expect(await eventually { server.connectionCount == 0 })
        }
    }

    @Test func repliesThatAreNotReadCount() async throws {
        var limits = ServerLimits()
        limits.bytesPerUserMax = 500_000
        let dropped = Shared(0)
        let onEvent: @Sendable (ServerEvent) -> Void = { event in
            if case .connectionDropped = event { dropped.change { $0 += 1 } }
        }
        try await withServer(Ping.interface(), limits: limits, onEvent: onEvent) {
            _, address in
            let bad = try (0..<10).map { _ in try RawClient(address) }
            let call = Ping.call(String(repeating: "x", count: 100_000))
            Thread { for client in bad { for _ in 0..<8 where client.send(call) {} } }.start()
            #expect(await eventually { dropped.value >= 1 })
            let good = try RawClient(address)
            good.send(Ping.call("x"))
            #expect(try await good.reply()?.parameters == ["text": "x"])
        }
    }

    @Test func aClientThatDoesNotReadWaitsForItself() async throws {
        var limits = ServerLimits()
        limits.queuedBytesMax = 100_000
        try await withServer(Ping.interface(), limits: limits) { _, address in
            let bad = try RawClient(address)
            let call = Ping.call(String(repeating: "x", count: 10_000))
            let count = 2_000
            Thread { for _ in 0..<count { bad.send(call) } }.start()
            let good = try RawClient(address)
            for _ in 0..<50 {
                good.send(Ping.call("x"))
                #expect(try await good.reply()?.parameters == ["text": "x"])
            }
            // It gets all its replies when it reads after all.
            let received = await blocking {
                var received = 0
                while received < count, bad.receiveBlocking() != nil { received += 1 }
                return received
            }
            #expect(received == count)
        }
    }

    @Test func survivesAStormOfRandomBytes() async throws {
        let seed = TestSeed.drawn()
        try await withServer(Ping.interface()) { server, address in
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        var random = SeededRandom(seed: seed.value &+ UInt64(index))
                        guard let client = try? RawClient(address) else { return }
                        var bytes = Ping.call("x").encoded() + Ping.call("y", "Slow").encoded()
                        for _ in 0..<Int.random(in: 0...3, using: &random) {
                            bytes[Int.random(in: bytes.indices, using: &random)] =
                                UInt8.random(in: 0...255, using: &random)
                        }
                        client.send(Array(bytes.prefix(Int.random(in: 0...300, using: &random))))
                    }
                }
            }
            let good = try RawClient(address)
            good.send(Ping.call("x"))
            #expect(try await good.reply()?.parameters == ["text": "x"], "\(seed)")
            #expect(await eventually { server.connectionCount == 1 }, "\(seed)")
        }
    }
}
