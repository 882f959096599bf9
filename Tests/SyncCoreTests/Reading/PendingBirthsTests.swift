import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

@Suite struct PendingBirthsTests {
    private static let item = TrackedEntity(
        id: 1, name: "Item", layout: .keyed("id", columns: ["id"]), isRetired: false)

    private static func name(_ key: Int64) -> ObjectName {
        ObjectName(entity: "item", key: ObjectKey(.integer(key)))
    }

    /// A transaction that changes one object each seq.
    private static func transaction(
        _ number: Int64, _ changes: [(seq: Int64, kind: Change.Kind, key: Int64)]
    ) -> NetTransaction {
        NetTransaction(
            first: changes.first?.seq ?? 0, number: number, time: Timestamp(milliseconds: 0),
            who: nil,
            flags: [],
            changes: changes.map {
                NetChange(
                    seq: $0.seq, entity: item, key: ObjectKey(.integer($0.key)), kind: $0.kind)
            })
    }

    @Test func theLastInsertBeforeASeqIsFound() {
        var births = PendingBirths()
        births.note(Self.transaction(2, [(1, .insert, 7), (2, .update, 8)]))
        births.note(Self.transaction(5, [(3, .delete, 7), (5, .insert, 7)]))
        #expect(births.number(Self.name(7), before: 1) == nil)
        #expect(births.number(Self.name(7), before: 2) == 2)
        #expect(births.number(Self.name(7), before: 5) == 2)
        #expect(births.number(Self.name(7), before: 6) == 5)
        #expect(births.number(Self.name(8), before: 9) == nil, "an update is no birth")
    }

    @Test func aTransactionCountsOnce() {
        var births = PendingBirths()
        births.note(Self.transaction(5, [(5, .insert, 7)]))
        births.note(Self.transaction(5, [(4, .insert, 8)]))
        births.note(Self.transaction(3, [(3, .insert, 9)]))
        #expect(births.number(Self.name(8), before: 99) == nil)
        #expect(births.number(Self.name(9), before: 99) == nil)
        #expect(births.end == 5)
    }

    @Test func whatIsForgottenIsNeitherHeldNorNotedAgain() {
        var births = PendingBirths()
        births.note(Self.transaction(2, [(2, .insert, 7)]))
        births.note(Self.transaction(4, [(4, .insert, 7)]))
        births.forget(upTo: 2)
        #expect(births.number(Self.name(7), before: 4) == nil)
        #expect(births.number(Self.name(7), before: 5) == 4)
        births.forget(upTo: 9)
        births.note(Self.transaction(8, [(8, .insert, 7)]))
        #expect(births.number(Self.name(7), before: 99) == nil)
        #expect(births.end == 9)
    }

    /// Compared with a plain list of all inserts.
    @Test func randomBacklogs() {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<50 {
            var births = PendingBirths()
            var all: [(seq: Int64, number: Int64, key: Int64)] = []
            var seq: Int64 = 0
            for _ in 0..<60 {
                let start = seq + 1
                seq += Int64(1 + random.below(3))
                let changes = (start...seq).map { (seq: $0, key: Int64(random.below(5))) }
                births.note(Self.transaction(seq, changes.map { ($0.seq, .insert, $0.key) }))
                all += changes.map { ($0.seq, seq, $0.key) }
                if random.once(in: 4) {
                    let end = Int64(random.below(Int(seq) + 1))
                    births.forget(upTo: end)
                    all.removeAll { $0.number <= end }
                }
                let asked = Int64(1 + random.below(Int(seq) + 2))
                for key in Int64(0)..<5 {
                    let expected = all.last { $0.key == key && $0.seq < asked }?.number
                    #expect(births.number(Self.name(key), before: asked) == expected, "\(seed)")
                }
            }
        }
    }
}

extension CaptureLayout {
    /// The layout of a table with one key column, as the store writes it.
    static func keyed(_ key: String, columns: [String]) -> CaptureLayout {
        let json = """
            {"key": ["\(key)"], "columns": [\(columns.map { "\"\($0)\"" }.joined(separator: ", "))],
             "kept": [], "undo": false}
            """
        guard let layout = try? CaptureLayout(json: json) else {
            preconditionFailure("the layout is readable")
        }
        return layout
    }
}
