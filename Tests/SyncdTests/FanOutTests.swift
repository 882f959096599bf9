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
}
