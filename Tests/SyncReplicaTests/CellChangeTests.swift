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

    @Test("a cell that is divided or joined states the same, and so do the changes of transactions")
    func grouping() {
        let apart = MergeEntity(
            name: "t", columns: ["k", "a", "b"].map { MergeEntity.Column($0) }, key: [0],
            identity: .privateNumber)
        let tied = MergeEntity(
            name: "t", columns: ["k", "a", "b"].map { MergeEntity.Column($0) }, key: [0],
            identity: .privateNumber, uniques: [[1, 2]])
        func version(_ dot: Dot, _ value: Field...) -> Version {
            Version(dot, incarnation: 1, value: value)
        }
        var record = ObjectRecord(entity: 0, cellCount: 2)
        record.life = [life(first, .created)]
        record.cells = [
            [version(first, .value("a"))],
            [version(second, .value("b")), version(later, .value("c"))],
        ]
        let join = CellChange(of: tied, from: [["a"], ["b"]])
        let joined = join.converted(record)
        #expect(
            Set(joined.cells[0]) == [
                version(first, .value("a"), .unstated), version(second, .unstated, .value("b")),
                version(later, .unstated, .value("c")),
            ])
        #expect(join.places(count: 2) == [[0], [0]])
        let divide = CellChange(of: apart, from: [["a", "b"]])
        #expect(divide.converted(joined) == record)
        #expect(divide.places(count: 1) == [[0, 1]])
    }
}
