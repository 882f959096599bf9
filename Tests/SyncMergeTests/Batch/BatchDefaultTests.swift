import SyncMerge
import SyncValues
import Testing

/// What rows show in a column that their writer did not have.
@Suite("Defaults of columns that a sender does not have")
struct BatchDefaultTests {
    private let uid = ObjectUID(high: 1, low: 2)
    private let dot = Dot(.random(), 7)

    private static func entity(_ columns: String...) -> MergeEntity {
        MergeEntity(
            name: "t",
            columns: (["id"] + columns).map { MergeEntity.Column($0) }, key: [0],
            identity: .privateNumber)
    }

    private let schema = MergeSchema([entity("a", "b", "added")])

    /// A batch whose sender has no column `added`.
    private func batch(_ life: LifeKind, cells: [Int]) -> Batch {
        let facts: [Fact] =
            [.life(uid, entity: 0, Life(dot, kind: life, incarnation: 1))]
            + cells.map {
                .cell(
                    uid, entity: 0, cell: $0, Version(dot, incarnation: 1, value: [.value(.null)]))
            }
        return Batch(
            Delta(since: VersionVector(), headers: [], facts: facts),
            schema: MergeSchema([Self.entity("a", "b")]), store: .random(), sender: dot.replica)
    }

    private var expected: [Fact] {
        [.cell(uid, entity: 0, cell: 2, Version(dot, incarnation: 1, value: [.value(.null)]))]
    }

    @Test("an insert states them; so does a row that was deleted and inserted again")
    func inserts() {
        let inserted = batch(.created, cells: []).defaults(in: schema)
        #expect(inserted.facts == expected && inserted.remainders.isEmpty)
        let again = batch(.revived, cells: [0, 1]).defaults(in: schema)
        #expect(again.facts == expected && again.remainders.isEmpty)
        let deleted = batch(.deleted, cells: []).defaults(in: schema)
        #expect(deleted.facts.isEmpty && deleted.remainders.isEmpty)
    }

    /// The edit of a row that was deleted elsewhere says nothing of a column that its writer does
    /// not have, unless the delete has left nothing in it.
    @Test("an edit that keeps a row fills what is empty, and nothing else")
    func edits() {
        let kept = batch(.revived, cells: [1]).defaults(in: schema)
        #expect(kept.facts.isEmpty && kept.remainders == expected)
        let earlier = Version(Dot(.random(), 1), incarnation: 1, value: [.value("x")])
        for versions in [[], [earlier]] {
            var state = MergeState(schema: schema)
            state.insert(.life(uid, entity: 0, Life(dot, kind: .revived, incarnation: 1)))
            for version in versions {
                state.insert(.cell(uid, entity: 0, cell: 2, version))
            }
            state.fill(kept.remainders)
            let filled = state.objects[uid]?.cells[2].map(\.value)
            #expect(filled == (versions.isEmpty ? [[.value(.null)]] : [[.value("x")]]))
        }
    }
}
