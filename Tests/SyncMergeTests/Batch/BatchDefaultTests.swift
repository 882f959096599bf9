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

    @Test("an insert states them; an edit that keeps a row says nothing of them")
    func inserts() {
        #expect(batch(.created, cells: []).defaults(in: schema) == expected)
        #expect(batch(.revived, cells: [1]).defaults(in: schema).isEmpty)
        #expect(batch(.revived, cells: [0, 1]).defaults(in: schema).isEmpty)
        #expect(batch(.deleted, cells: []).defaults(in: schema).isEmpty)
    }

    /// `a` and `b` are one cell at the sender, which forwards `a` alone, of another replica. Earlier
    /// versions repeated such a cell like one of a column that they did not have.
    @Test("a column that the sender forwards as a part of its own cell has no default")
    func forwardedParts() {
        var batch = batch(.created, cells: [])
        batch.entities = [
            .init(name: "t", isPrivate: true, cells: [["a", "b"], ["a"]]),
            .init(name: "t", isPrivate: true, cells: [["a"]]),
        ]
        #expect(batch.defaults(in: schema) == expected)
        batch.entities[0].cells[0] = ["b"]
        #expect(batch.defaults(in: schema).count == 2)
    }

    @Test("of a cell of several columns it is stated of those alone that the sender does not have")
    func parts() {
        let tied = MergeEntity(
            name: "t", columns: ["id", "a", "b", "added"].map { MergeEntity.Column($0) }, key: [0],
            identity: .privateNumber, uniques: [[1, 3]])
        let defaults = batch(.created, cells: []).defaults(in: MergeSchema([tied]))
        let version = Version(dot, incarnation: 1, value: [.unstated, .value(.null)])
        #expect(defaults == [.cell(uid, entity: 0, cell: 0, version)])
    }

    private func state(
        _ facts: [Fact], fillingAfter count: Int, seen: VersionVector = VersionVector()
    ) -> MergeState {
        var state = MergeState(schema: schema)
        for (place, fact) in facts.enumerated() {
            if place == count { state.fill([uid]) }
            let seen = fact.dot == dot ? seen : VersionVector()
            state.insert(
                TransactionHeader(fact.dot, time: HybridTime(rawValue: 1), seen: seen))
            state.insert(fact)
        }
        state.fill([uid])
        return state
    }

    /// Also where the fact comes later than the edit, and where the edit's writer had merged it,
    /// but had no column for it.
    @Test("what an edit that keeps a row leaves empty has the default, until a fact comes")
    func edits() {
        let other = Dot(.random(), 1)
        let kept: [Fact] = [
            .life(uid, entity: 0, Life(dot, kind: .revived, incarnation: 1)),
            .cell(uid, entity: 0, cell: 1, Version(dot, incarnation: 1, value: [.value("b")])),
        ]
        let unwritten = state(kept, fillingAfter: 1).objects[uid]?.cells[2]
        #expect(unwritten?.map(\.value) == [[.value(.null)]])
        #expect(unwritten?.allSatisfy(\.isUnwritten) == true)
        let stated = Fact.cell(
            uid, entity: 0, cell: 2, Version(other, incarnation: 1, value: [.value("x")]))
        var seen = VersionVector()
        for _ in 1...2 {
            for count in 0...2 {
                let state = state(kept + [stated], fillingAfter: count, seen: seen)
                #expect(state.objects[uid]?.cells[2].map(\.value) == [[.value("x")]])
            }
            seen.advance(to: other)
        }
    }

    /// Its value comes with a later batch.
    @Test("a column that has to be stated has no default")
    func required() {
        for isRequired in [false, true] {
            let entity = MergeEntity(
                name: "t",
                columns: [.init("id"), .init("a"), .init("added", isRequired: isRequired)],
                key: [0], identity: .privateNumber)
            var record = ObjectRecord(entity: 0, cellCount: 2)
            record.life = [Life(dot, kind: .revived, incarnation: 1)]
            record.cells[0] = [Version(dot, incarnation: 1, value: [.value("a")])]
            var state = MergeState(
                schema: MergeSchema([entity]), vector: VersionVector(), headers: [],
                objects: [uid: record], aliases: [:])
            state.fill([uid])
            #expect(state.objects[uid]?.cells[1].isEmpty == isRequired)
        }
    }

    /// A fact about the life before says nothing of the present one.
    @Test("the default of the present life stays beside facts of earlier ones")
    func earlierLives() {
        let again = [
            Fact.life(uid, entity: 0, Life(dot, kind: .revived, incarnation: 2)),
            .cell(uid, entity: 0, cell: 1, Version(dot, incarnation: 2, value: [.value("b")])),
        ]
        let earlier = Fact.cell(
            uid, entity: 0, cell: 2,
            Version(Dot(.random(), 1), incarnation: 1, value: [.value("x")]))
        for facts in [again + [earlier], [earlier] + again] {
            for count in 1...3 {
                let versions = state(facts, fillingAfter: count).objects[uid]?.cells[2] ?? []
                #expect(versions.map(\.incarnation).sorted() == [1, 2])
                #expect(versions.filter(\.isUnwritten).map(\.incarnation) == [2])
            }
        }
    }

    /// Also where the headers are not kept any more: then no time says which is later.
    @Test("in a row of several objects it loses to what another one has")
    func rows() throws {
        let replicas = [ReplicaID.random(), .random()].sorted()
        func record(_ kind: LifeKind, _ replica: ReplicaID, added: Version) -> ObjectRecord {
            let dot = Dot(replica, 7)
            var record = ObjectRecord(entity: 0, cellCount: 3)
            record.life = [Life(dot, kind: kind, incarnation: 1)]
            let other = Version(dot, incarnation: 1, value: [.value("a")])
            record.cells = [[other], [other], [added]]
            return record
        }
        for (kept, created) in [(replicas[0], replicas[1]), (replicas[1], replicas[0])] {
            let objects = [
                uid: record(
                    .revived, kept,
                    added: Version(unwritten: [.value(.null)], incarnation: 1, near: kept)),
                ObjectUID(high: 1, low: 3): record(
                    .created, created,
                    added: Version(Dot(created, 7), incarnation: 1, value: [.value("x")])),
            ]
            let alias = MergeState.Alias(uid, ObjectUID(high: 1, low: 3))
            let state = MergeState(
                schema: schema, vector: VersionVector(), headers: [], objects: objects,
                aliases: [alias: Dot(kept, 7)])
            let row = try #require(View(state).rows.values.first)
            #expect(row.fields.contains(.value("x")))
        }
    }

    /// A replica that adds the column after the row was stated again has no such version.
    @Test("the default of an insert that was stated again without the column is no conflict")
    func statedAgain() {
        let (insert, other, edit) = (Dot(.random(), 1), Dot(.random(), 1), Dot(.random(), 1))
        func conflicts(_ added: [Dot: String?], isSeen: Bool = true) -> Set<Dot> {
            var record = ObjectRecord(entity: 0, cellCount: 3)
            record.life = [
                Life(other, kind: .created, incarnation: 1),
                Life(dot, kind: .revived, incarnation: 1),
            ]
            let written = [dot, other].map {
                Version($0, incarnation: 1, value: [.value("a")])
            }
            let versions = added.map { dot, text in
                Version(dot, incarnation: 1, value: [.value(text.map(Value.text) ?? .null)])
            }
            record.cells = [written, written, versions]
            var seen = VersionVector()
            if isSeen { seen.advance(to: insert) }
            let headers = [insert, other, edit, dot].map { item in
                TransactionHeader(
                    item, time: HybridTime(rawValue: item == edit ? 9 : 1),
                    seen: item == dot ? seen : VersionVector())
            }
            let state = MergeState(
                schema: schema, vector: VersionVector(), headers: headers, objects: [uid: record],
                aliases: [:])
            return Set(View(state).conflicts.keys.map(\.dot))
        }
        #expect(conflicts([other: nil, edit: "x"]) == [other])
        #expect(conflicts([insert: nil, other: nil, edit: "x"]) == [other])
        #expect(conflicts([insert: "y", other: nil, edit: "x"]) == [insert, other])
        #expect(conflicts([insert: nil, edit: "x"], isSeen: false) == [insert])
    }
}
