import SyncCore
import SyncTesting
import Testing
import Varlink

@testable import SyncClient

/// Parts of a transaction as a client puts them together again.
@Suite struct TransactionJoinerTests {
    private static let store = "00112233445566778899aabbccddeeff"

    private func transaction(_ number: Int64, changes: Int) throws -> Transaction {
        let token = try Token("1.\(Self.store).1.\(number).0")
        return Transaction(
            token: token, first: number, timestamp: Timestamp(milliseconds: 0), author: nil,
            context: nil, process: nil, origin: nil, flags: [],
            changes: (0..<changes).map { index in
                Change(
                    seq: Int64(index + 1),
                    object: ObjectID(
                        store: token.store, entity: "t", key: ObjectKey(.integer(Int64(index)))),
                    kind: .insert, properties: [], tombstone: nil, oldValues: nil, cause: .direct)
            })
    }

    private func split(
        _ transaction: Transaction, _ random: inout SeededRandom
    ) -> [Transaction] {
        var parts: [Transaction] = []
        var rest = transaction.changes[...]
        while !rest.isEmpty {
            var part = transaction
            part.changes = Array(rest.prefix(Int.random(in: 1..<8, using: &random)))
            rest = rest.dropFirst(part.changes.count)
            for index in part.changes.indices { part.changes[index].seq = Int64(index + 1) }
            part.part = .init(index: parts.count, isLast: rest.isEmpty)
            parts.append(part)
        }
        if parts.count == 1 { parts[0].part = nil }
        return parts
    }

    /// Whatever the limits are, and wherever the connection is lost: every change once, in order.
    @Test(arguments: TestSeed.each(of: 1...100))
    func everyChangeArrivesOnce(seed: TestSeed) throws {
        var random = seed.random
        let limit = [0, 5, 20, 1000].randomElement(using: &random) ?? 0
        var joiner = TransactionJoiner(JoinLimits(changesMax: limit, bytesMax: .max))
        var found: [Transaction] = []
        var all: [Transaction] = []
        for number in 1...5 {
            let whole = try transaction(
                Int64(number), changes: Int.random(in: 1..<60, using: &random))
            all.append(whole)
            var parts = split(whole, &random)[...]
            while let part = parts.popFirst() {
                if let result = joiner.take(part) { found.append(result) }
                if !parts.isEmpty, Int.random(in: 0..<6, using: &random) == 0 {
                    if Bool.random(using: &random) { joiner.restart() }
                    // Another daemon may cut it in another way.
                    parts = split(whole, &random)[...]
                }
            }
        }
        for whole in all {
            let parts = found.filter { $0.number == whole.number }
            #expect(parts.flatMap(\.changes) == whole.changes, "\(seed)")
            #expect(parts.filter(\.isComplete).count == 1, "\(seed)")
            #expect(parts.last?.isComplete == true, "\(seed)")
            if parts.count == 1 {
                #expect(parts[0].part == nil, "\(seed)")
            } else {
                #expect(parts.compactMap { $0.part?.index } == Array(parts.indices), "\(seed)")
            }
            if limit == 1000 { #expect(parts == [whole], "\(seed)") }
        }
        #expect(found.filter(\.isComplete).map(\.number) == [1, 2, 3, 4, 5], "\(seed)")
    }

    @Test func aPartAndAReferenceAreReadBackAsTheyWere() throws {
        var part = try transaction(7, changes: 1)
        part.part = .init(index: 3, isLast: false)
        let reference = ValueReference(
            transaction: 7, change: 5, property: "cover", kind: .blob, bytes: 13_000_000)
        part.changes = [
            Change(
                seq: 1, object: part.changes[0].object, kind: .delete, properties: [],
                tombstone: NamedValues(
                    [.init(name: "id", value: .integer(0))], references: [reference]),
                oldValues: nil, cause: .direct)
        ]
        let text = String(decoding: part.json, as: UTF8.self)
        #expect(text.hasSuffix(#""part":{"index":3,"isLast":false}}"#))
        #expect(
            text.contains(
                #""tombstone":{"id":0,"cover":{"ref":{"transaction":7,"change":5,"#
                    + #""property":"cover","kind":"blob","size":13000000}}}"#))
        #expect(try Transaction(json: JSONParser.parse(part.json)) == part)
    }
}
