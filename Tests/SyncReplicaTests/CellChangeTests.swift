import SyncMerge
import SyncValues
import Testing

@testable import SyncReplica

/// Records in the cells of a schema that has a column more.
@Suite("Records after a change of the cells")
struct CellChangeTests {
    private let first = Dot(.random(), 4)
    private let second = Dot(.random(), 2)
    private let later = Dot(.random(), 9)

    private static let entity = MergeEntity(
        name: "t", columns: ["k", "a", "added"].map { MergeEntity.Column($0) }, key: [0],
        identity: .key)

    /// The transactions that the default of the new column is of; nil: of none.
    private func added(_ life: [Life], key: [Dot], a: [Dot]) -> Set<Dot?> {
        var record = ObjectRecord(entity: 0, cellCount: 2)
        record.life = life
        for (cell, dots) in [key, a].enumerated() {
            record.cells[cell] = dots.map { Version($0, incarnation: 1, value: [.value("x")]) }
        }
        let change = CellChange(of: Self.entity, from: [["k"], ["a"]])
        return Set(change.converted(record).cells[2].map { $0.isUnwritten ? nil : $0.dot })
    }

    private func life(_ dot: Dot, _ kind: LifeKind) -> Life {
        Life(dot, kind: kind, incarnation: 1)
    }

    @Test("a new column has its default of each insert of the row")
    func inserts() {
        let both = [first, second]
        #expect(added([life(first, .created)], key: [first], a: [later]) == [first])
        #expect(
            added(both.map { life($0, .created) }, key: both, a: both + [later]) == Set(both))
    }

    /// Which of the other transactions are left depends on the replica.
    @Test("of a deleted row, and one that an edit keeps, it is of no transaction")
    func others() {
        #expect(added([life(later, .deleted)], key: [first], a: [second]) == [nil])
        #expect(added([life(later, .revived)], key: [first], a: [later]) == [nil])
        let both = [first, second]
        #expect(added(both.map { life($0, .revived) }, key: both, a: both) == [nil])
        #expect(added([life(later, .deleted)], key: [], a: []).isEmpty)
    }
}
