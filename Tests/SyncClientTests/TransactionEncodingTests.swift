import SyncCore
import SyncTesting
import Testing
import Varlink

@testable import SyncClient

@Suite struct TransactionEncodingTests {
    private static let store = "00112233445566778899aabbccddeeff"

    private func token(_ number: Int64, check: String = "0") throws -> Token {
        try Token("1.\(Self.store).1.\(number).\(check)")
    }

    private func object(_ path: String, _ incarnation: Int64 = 0) throws -> ObjectID {
        let name = try #require(ObjectID.parse(path: path))
        let store = try #require(StoreID(Self.store))
        return ObjectID(store: store, entity: name.entity, key: name.key, incarnation: incarnation)
    }

    @Test func theDocumentedLineIsWrittenAsDocumented() throws {
        let change = Change(
            seq: 1, object: try object("Album/348"), kind: .update, properties: ["Title"],
            tombstone: nil, oldValues: nil, cause: .direct)
        let transaction = Transaction(
            token: try token(7, check: "2a"), first: 7,
            timestamp: Timestamp(milliseconds: 1_767_225_600_000), author: "importer",
            context: nil, process: .init(pid: 1, name: "python3"), origin: nil, flags: [],
            changes: [change])
        let expected =
            #"{"number":7,"token":"1.\#(Self.store).1.7.2a","#
            + #""timestamp":"2026-01-01T00:00:00.000Z","#
            + #""author":"importer","context":null,"process":{"pid":1,"name":"python3"},"#
            + #""origin":"local","flags":[],"changes":[{"entity":"Album","object":"Album/348","#
            + #""kind":"update","properties":["Title"],"tombstone":null}]}"#
        #expect(String(decoding: transaction.json, as: UTF8.self) == expected)
    }

    @Test func valuesKeepTheirStorageClassAndEveryBit() throws {
        let values: [Value] = [
            .null, .integer(0), .integer(-1), .integer(1 << 53), .integer((1 << 53) + 1),
            .integer(.max), .integer(.min), .real(0), .real(-0.0), .real(1), .real(1.5e300),
            .real(.leastNonzeroMagnitude), .real(.infinity), .real(-.infinity), .text(""),
            .text("é\u{0}\"\\\n\u{7f}"),
            .text(#"{"blob":"AA=="}"#), .blob([]), .blob([0]), .blob([0, 255]), .blob([1, 2, 3]),
            .blob(Array(0...255)),
        ]
        for value in values {
            var writer = JSONWriter()
            writer.write(value)
            #expect(try Value(json: JSONParser.parse(writer.bytes)) == value, "\(writer.text)")
        }
    }

    @Test func anythingElseIsNoValue() throws {
        for text in [
            "true", "[]", "{}", #"{"blob":1}"#, #"{"blob":"A"}"#, #"{"blob":"AB=="}"#,
            #"{"int":"x"}"#, #"{"real":"nan"}"#, #"{"int":"1","blob":""}"#, #"{"other":"1"}"#,
        ] {
            #expect(throws: SyncError.self, "\(text)") {
                try Value(json: JSONParser.parse(text))
            }
        }
    }

    @Test(arguments: TestSeed.each(of: 0..<40))
    func whatIsWrittenReadsBackTheSame(seed: TestSeed) throws {
        var random = seed.random
        let transaction = try randomTransaction(&random)
        let text = transaction.json
        let back = try Transaction(json: JSONParser.parse(text))
        #expect(back == transaction, "\(seed)")
        #expect(back.json == text, "\(seed)")
    }

    @Test func noticesReadBackTheSame() throws {
        var random = TestSeed.fixed(1).random
        let head = TransactionHead(try randomTransaction(&random))
        let store = try #require(StoreID(Self.store))
        let object = try object("Album/348", 5)
        let values = NamedValues([.init(name: "Title", value: .text("x"))])
        let notices: [Notice] = [
            .gone(.init(object: object, tombstone: values, cause: .cascade(of: object), by: head)),
            .gone(.init(object: object, tombstone: nil, cause: .direct, by: nil)),
            .changed(.init(object: object, properties: ["a"], oldValues: values, by: head)),
            .replaced(.init(object: object, by: head)), .lagged(head.token),
            .storeReplaced(path: "/a", store: store, token: head.token), .storeRemoved(path: "/a"),
            .storeRemoved(path: "/a", reason: "no permission"),
            .storeReturned(path: "/a", token: head.token), .schemaChanged(entities: ["A", "B"]),
            .historyPurged(head.token),
        ]
        for notice in notices {
            let json = try JSONParser.parse(notice.json)
            #expect(try Notice(json: json, store: store) == notice)
        }
        #expect(try Notice(json: ["fromTheFuture": ["x": 1]], store: store) == nil)
    }

    @Test func queriesReadBackTheSame() throws {
        var query = HistoryQuery()
        #expect(try HistoryQuery(jsonObject: query.jsonObject) == query)
        query.after = try token(3)
        query.upTo = try token(9)
        query.since = Timestamp(milliseconds: 5)
        query.until = Timestamp(milliseconds: 6)
        query.authors = ["a"]
        query.excludedAuthors = ["b"]
        query.context = "c"
        query.entities = ["Album"]
        query.object = try .init(path: "Album/348")
        query.kinds = [.insert, .delete]
        query.properties = ["Title"]
        query.limit = 3
        query.reverse = true
        #expect(try HistoryQuery(jsonObject: query.jsonObject) == query)
    }

    private func randomTransaction(_ random: inout SeededRandom) throws -> Transaction {
        func text() -> String { "t\(random.next() % 1000)é" }
        func maybe<Result>(_ value: Result) -> Result? { random.next() % 2 == 0 ? value : nil }
        let number = Int64(random.next() % 1_000_000 + 1)
        let causes: [Change.Cause] = [
            .direct, .replace, .merge, .cascade(of: try object("A/1", 3)),
            .renumbered(try object("B/x%2Fy,7")),
        ]
        let changes = try (1...Int(random.next() % 5 + 1)).map { index in
            Change(
                seq: Int64(index), object: try object("Album/\(index)", Int64(random.next() % 3)),
                kind: Change.Kind.allCases[Int(random.next() % 3)],
                properties: [text(), text()],
                tombstone: maybe(NamedValues([.init(name: text(), value: .blob([1, 2]))])),
                oldValues: maybe(NamedValues([.init(name: "n", value: .integer(.max))])),
                cause: causes[Int(random.next() % 5)])
        }
        let origin = Transaction.Origin(
            replica: try #require(ReplicaID(Self.store)), number: 5,
            time: Timestamp(milliseconds: 77))
        return Transaction(
            token: try token(number, check: "ff"), first: number,
            timestamp: Timestamp(milliseconds: Int64(random.next() % 4_000_000_000_000)),
            author: maybe(text()), context: maybe(text()),
            process: maybe(.init(pid: 7, name: maybe(text()))), origin: maybe(origin),
            flags: .init(rawValue: Int(random.next() % 16)), changes: changes)
    }
}
