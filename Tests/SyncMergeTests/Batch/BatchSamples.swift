import SyncTesting
import Testing

@testable import SyncMerge
@testable import SyncValues

/// Batches for tests.
enum Samples {
    static let schema = MergeSchema([
        MergeEntity(
            name: "Album",
            columns: [.init("id", isRequired: true), .init("a"), .init("b"), .init("c")],
            key: [0], identity: .privateNumber, uniques: [[1, 2]]),
        MergeEntity(
            name: "Track", columns: [.init("name", isRequired: true), .init("album")],
            key: [0], identity: .key, references: [.init([1], to: 0, onDelete: .cascade)]),
    ])

    private static let a = SimulatedReplica.id("A")
    private static let b = SimulatedReplica.id("B")

    private static func object(_ number: UInt64) -> ObjectUID {
        ObjectUID(high: number &* 0x9e37_79b9_7f4a_7c15, low: number)
    }

    /// One of everything.
    static func batch() -> Batch {
        let from = VersionVector([Dot(a, 3)])
        let first = TransactionHeader(
            Dot(a, 7), time: HybridTime(milliseconds: 1_000_000), seen: from)
        var seen = from
        seen.advance(to: first.dot)
        let second = TransactionHeader(
            Dot(b, 1), time: HybridTime(rawValue: .max), seen: seen)
        let changes: [Batch.Change] = [
            .init(object(1), entity: 0, kind: .insert),
            .init(object(2), entity: 1, kind: .update, cells: [1]),
            .init(object(3), entity: 1, kind: .delete),
        ]
        var facts: [Fact] = [
            .life(object(1), entity: 0, Life(first.dot, kind: .created, incarnation: 1)),
            .life(object(3), entity: 1, Life(first.dot, kind: .deleted, incarnation: 2)),
            .life(object(3), entity: 1, Life(second.dot, kind: .revived, incarnation: 2)),
            .cell(
                object(1), entity: 0, cell: 0,
                Version(first.dot, incarnation: 1, value: [.value(nil), .value("title")])),
            .cell(
                object(2), entity: 1, cell: 1,
                Version(first.dot, incarnation: 1, value: [.reference(object(1), part: 0)])),
            .alias(object(2), object(4), second.dot),
        ]
        let values: [Value] = [
            .integer(.min), .integer(.max), .real(-0.0), .real(.infinity), .text(""),
            .text("käse\u{0}🧀"), .blob([]), .blob([0, 255]), .null,
        ]
        for (index, value) in values.enumerated() {
            let version = Version(first.dot, incarnation: 1, value: [.value(value)])
            facts.append(.cell(object(10 + UInt64(index)), entity: 0, cell: 1, version))
        }
        let transactions: [Batch.Transaction] = [
            .init(
                first, author: "importer", context: "nightly", process: "python3", pid: 4711,
                flags: 5, changes: changes),
            .init(second),
        ]
        var upTo = from
        upTo.advance(to: first.dot)
        upTo.advance(to: second.dot)
        return Batch(
            store: StoreID("00112233445566778899aabbccddeeff") ?? .random(), sender: b, from: from,
            upTo: upTo,
            entities: Batch(
                Delta(since: from, headers: [], facts: []), schema: schema, store: .random(),
                sender: b
            ).entities, transactions: transactions, facts: facts)
    }

    /// The key of the sender of ``signed()``.
    static let key = SigningKey(bytes: Array(repeating: 7, count: 32)) ?? .make()
    private static let otherKey = SigningKey(bytes: Array(repeating: 8, count: 32)) ?? .make()

    /// The same with everything that a signed batch has.
    static func signed() throws -> Batch {
        var batch = batch()
        let headers = batch.transactions.map(\.header)
        func proof(
            _ replica: ReplicaID, key: SigningKey, from first: Int64, then: [TransactionHeader] = []
        ) throws -> SignerProof {
            let start = ChainLink(store: batch.store, replica: replica, first: first)
            let own = headers.filter { $0.dot.replica == replica } + then
            let anchor = try Anchor(
                start.following(own), store: batch.store, replica: replica, with: key)
            return SignerProof(
                key: key.verifying, first: first, start: start, anchor: anchor, headers: then)
        }
        let later = [9, 12, 13].map { number in
            TransactionHeader(
                Dot(a, number), time: HybridTime(milliseconds: 2_000_000 + number % 3),
                seen: VersionVector([Dot(b, number < 12 ? 1 : 2)]))
        }
        batch.proofs = [
            b: try proof(b, key: key, from: 0),
            a: try proof(a, key: otherKey, from: 3, then: later),
        ]
        batch.goal = batch.upTo.joined(VersionVector([Dot(a, 13)]))
        batch.sums = BatchSums(
            fact: Array(repeating: 1, count: 16), shown: Array(repeating: 2, count: 16))
        return batch
    }

    /// What replicas of a random schedule would send.
    static func random(seed: UInt64) throws -> Batch {
        let replica = try MergeSimulation.replicas(seed: seed)[0]
        return Batch(
            replica.state.delta(since: VersionVector()), schema: replica.state.schema,
            store: .random(), sender: replica.id)
    }

    /// Rows of some 160 bytes, in transactions of 100.
    static func inserts(_ count: Int) -> Batch {
        var base = MergeState(schema: schema)
        var random = SeededRandom(seed: 1)
        let words = (0..<2_000).map { _ in
            String((0..<8).map { _ in Character(Unicode.Scalar(UInt8(97 + random.below(26)))) })
        }
        for number in 0..<count / 100 {
            let dot = Dot(a, Int64(number + 1))
            let time = HybridTime(milliseconds: Int64(number))
            base.insert(TransactionHeader(dot, time: time, seen: base.vector))
            for _ in 0..<100 {
                let uid = ObjectUID(high: random.next(), low: random.next())
                let text = (0..<16).map { _ in random.pick(words) }.joined(separator: " ")
                let fields: [[Field]] = [
                    [.value(.text(text)), .value(.integer(Int64(random.below(1_000))))],
                    [.value(.real(Double(random.below(100_000)) / 100))],
                ]
                base.insert(.life(uid, entity: 0, Life(dot, kind: .created, incarnation: 1)))
                for (cell, value) in fields.enumerated() {
                    let version = Version(dot, incarnation: 1, value: value)
                    base.insert(.cell(uid, entity: 0, cell: cell, version))
                }
            }
        }
        return Batch(
            base.delta(since: VersionVector()), schema: schema, store: .random(), sender: a)
    }

    static func expectEqual(
        _ left: Batch, _ right: Batch, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            left.store == right.store && left.sender == right.sender && left.from == right.from
                && left.upTo == right.upTo, sourceLocation: sourceLocation)
        #expect(
            left.goal == right.goal && left.sums == right.sums && left.proofs == right.proofs,
            sourceLocation: sourceLocation)
        #expect(left.entities == right.entities, sourceLocation: sourceLocation)
        #expect(left.transactions == right.transactions, sourceLocation: sourceLocation)
        #expect(Set(left.facts) == Set(right.facts), sourceLocation: sourceLocation)
        #expect(left.facts.count == right.facts.count, sourceLocation: sourceLocation)
    }
}
