import SyncClient
import SyncCore
import Testing
import Varlink

@testable import syncd

@Suite(.timeLimit(.minutes(1))) struct FanOutTests {
    private static let store = "00112233445566778899aabbccddeeff"

    private func token(_ number: Int64) throws -> Token {
        try Token("1.\(Self.store).1.\(number).0")
    }

    private func transaction(_ number: Int64, of path: String = "Album/1") throws -> Transaction {
        let name = try #require(ObjectID.parse(path: path))
        let object = ObjectID(
            store: try #require(StoreID(Self.store)), entity: name.entity, key: name.key,
            incarnation: 0)
        let change = Change(
            seq: 1, object: object, kind: .update, properties: ["Title"], tombstone: nil,
            oldValues: nil, cause: .direct)
        return Transaction(
            token: try token(number), first: number, timestamp: .now(), author: nil, context: nil,
            process: nil, origin: nil, flags: [], changes: [change])
    }

    private func expect(
        _ client: StreamServer.Client, toGet numbers: [Int64],
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let tokens = try numbers.map { try token($0).description }
        try await eventually("the replies arrive") { client.tokens.count >= tokens.count }
        #expect(client.tokens == tokens, sourceLocation: location)
    }

    @Test func onlyLiveEntriesGetTransactionsBehindTheirPosition() async throws {
        let server = try await StreamServer()
        let (live, waiting) = (try await server.connect(), try await server.connect())
        var fanOut = FanOut()
        let subscribers = [live, waiting].map {
            Subscriber(SubscriptionOptions(), stream: $0.stream)
        }
        for subscriber in subscribers { fanOut.add(subscriber, at: try token(5)) }
        fanOut.setPhase(.live, for: subscribers[0])
        for number in Int64(4)...7 {
            fanOut.distribute(try transaction(number), atOnce: true)
        }
        try await expect(live, toGet: [6, 7])
        #expect(fanOut.entry(of: subscribers[0])?.position == (try token(7)))
        #expect(fanOut.entry(of: subscribers[1])?.position == (try token(5)))
        #expect(waiting.replies.isEmpty)
        let moved = fanOut.setPhase(.waitingForStore, of: .live)
        #expect(moved.map(\.name) == [subscribers[0].name])
    }

    @Test func filteredTransactionsMoveThePositionOnly() async throws {
        let server = try await StreamServer()
        let client = try await server.connect()
        var options = SubscriptionOptions()
        options.filter.entities = ["Artist"]
        let subscriber = Subscriber(options, stream: client.stream)
        var fanOut = FanOut()
        fanOut.add(subscriber, at: try token(0))
        fanOut.setPhase(.live, for: subscriber)
        fanOut.distribute(try transaction(1, of: "Album/1"), atOnce: true)
        #expect(fanOut.entry(of: subscriber)?.position == (try token(1)))
        #expect(fanOut.entry(of: subscriber)?.sentPosition == (try token(0)))
        fanOut.sendPositions()
        fanOut.distribute(try transaction(2, of: "Artist/1"), atOnce: true)
        try await expect(client, toGet: [1, 2])
        #expect(client.replies.first?.count == 1)
        #expect(client.replies.last?["transaction"] != nil)
    }

    @Test func heldObjectsGetNoticesUntilTheyAreReleased() async throws {
        let server = try await StreamServer()
        let client = try await server.connect()
        var options = SubscriptionOptions()
        options.transactions = false
        let subscriber = Subscriber(options, stream: client.stream)
        var fanOut = FanOut()
        fanOut.add(subscriber, at: try token(0))
        fanOut.setPhase(.live, for: subscriber)
        fanOut.hold([try ObjectName(path: "album/1")], for: subscriber)
        #expect(fanOut.heldCount(of: subscriber) == 1)
        fanOut.distribute(try transaction(1, of: "Album/2"), atOnce: true)
        fanOut.distribute(try transaction(2, of: "Album/1"), atOnce: true)
        fanOut.release(nil, for: subscriber)
        fanOut.distribute(try transaction(3, of: "Album/1"), atOnce: true)
        try await expect(client, toGet: [2])
        #expect(client.replies.first?["notices"]?.array?.first?["changed"] != nil)
        #expect(fanOut.heldCount(of: subscriber) == 0)
    }

    @Test func anotherStoreBeginsAnEra() async throws {
        let server = try await StreamServer()
        let client = try await server.connect()
        let subscriber = Subscriber(SubscriptionOptions(), stream: client.stream)
        var fanOut = FanOut()
        fanOut.add(subscriber, at: try token(5))
        let era = fanOut.era
        let old = fanOut.catchUpReply(to: subscriber, about: try transaction(6), era: era)
        #expect(old != nil)
        fanOut.moveAll(to: try token(2))
        #expect(fanOut.entry(of: subscriber)?.position == (try token(2)))
        let late = fanOut.catchUpReply(to: subscriber, about: try transaction(6), era: era)
        #expect(late == nil)
    }

    @Test func aRemovedEntryIsUnknown() async throws {
        let server = try await StreamServer()
        let (first, second) = (try await server.connect(), try await server.connect())
        var fanOut = FanOut()
        let subscribers = [first, second].map {
            Subscriber(SubscriptionOptions(), stream: $0.stream)
        }
        for subscriber in subscribers {
            fanOut.add(subscriber, at: try token(0))
            fanOut.setPhase(.live, for: subscriber)
        }
        fanOut.remove(subscribers[0])
        fanOut.remove(subscribers[0])
        fanOut.setPhase(.live, for: subscribers[0])
        #expect(fanOut.entry(of: subscribers[0]) == nil && fanOut.entries.count == 1)
        fanOut.distribute(try transaction(1), atOnce: true)
        try await expect(second, toGet: [1])
        #expect(first.replies.isEmpty)
    }

    /// The parts that an entry which holds some objects gets of a transaction in three parts, each
    /// with one object: numbered without gaps, with an end, and the token with the end alone.
    @Test(arguments: [
        (["Album/1"], ["0 false", "1 true"]), (["Album/3"], ["whole"]), (["Album/9"], []),
        (["Album/1", "Album/3"], ["0 false", "1 true"]),
        (["Album/1", "Album/2", "Album/3"], ["0 false", "1 false", "2 true"]),
    ])
    func partsAreNumberedWithoutGaps(held: [String], expected: [String]) async throws {
        let server = try await StreamServer()
        let client = try await server.connect()
        var options = SubscriptionOptions()
        options.heldOnly = true
        let subscriber = Subscriber(options, stream: client.stream)
        var fanOut = FanOut()
        fanOut.add(subscriber, at: try token(0))
        fanOut.hold(try held.map { try ObjectName(path: $0).folded }, for: subscriber)
        for index in 0..<3 {
            var part = try transaction(7, of: "Album/\(index + 1)")
            part.part = .init(index: index, isLast: index == 2)
            let reply = fanOut.catchUpReply(to: subscriber, about: part, era: fanOut.era)
            if let reply { client.stream.send(reply) }
            fanOut.advance(subscriber, past: part, isSent: reply != nil)
            let isInside = fanOut.entry(of: subscriber)?.inside != nil
            #expect(isInside == (index < 2))
        }
        #expect(fanOut.entry(of: subscriber)?.position == (try token(7)))
        client.stream.send(SubscriptionReplies.position(try token(8)))
        try await eventually("all replies") { client.tokens.last == (try? token(8).description) }
        let found = client.replies.dropLast().map { reply in
            let part = reply["transaction"]?.object?["part"]?.object
            #expect((reply["token"] == nil) == (part?["isLast"]?.bool == false))
            guard let part else { return "whole" }
            return "\(part["index"]?.integer ?? -1) \(part["isLast"]?.bool ?? false)"
        }
        #expect(found == expected)
    }
}
