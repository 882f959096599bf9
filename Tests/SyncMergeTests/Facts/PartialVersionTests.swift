import SyncMerge
import SyncTesting
import SyncValues
import Testing

/// Versions of some of the columns of a cell, as a replica states them whose constraints do not tie
/// these columns.
@Suite("Versions of a part of a cell")
struct PartialVersionTests {
    private static let columns = ["id", "a", "b", "c"].map { MergeEntity.Column($0) }
    private static let entity = MergeEntity(
        name: "t", columns: columns, key: [0], identity: .privateNumber, uniques: [[1, 2, 3]])
    private static let tied = MergeSchema([entity])
    private static let apart = MergeSchema([
        MergeEntity(name: "t", columns: columns, key: [0], identity: .privateNumber)
    ])
    private static let uid = ObjectUID(high: 1, low: 1)

    /// Random transactions of one object, each of which has seen some of those before it.
    private struct History {
        var headers: [TransactionHeader] = []
        /// By transaction: the columns that it states.
        var columns: [Set<Int>] = []

        init(_ random: inout SeededRandom) {
            let replicas = (0..<3).map { _ in ReplicaID.random() }
            var vectors = replicas.map { _ in VersionVector() }
            for number in 1...random.pick([2, 4, 7, 12]) {
                let writer = random.below(replicas.count)
                for other in replicas.indices where random.chance(0.3) {
                    vectors[writer] = vectors[writer].joined(vectors[other])
                }
                let dot = Dot(replicas[writer], vectors[writer][replicas[writer]] + 1)
                headers.append(
                    TransactionHeader(
                        dot, time: HybridTime(rawValue: UInt64(number) << 16),
                        seen: vectors[writer]))
                vectors[writer].advance(to: dot)
                let isFirst = headers.count == 1
                columns.append(
                    isFirst || random.chance(0.4)
                        ? [1, 2, 3] : Set((0..<2).map { _ in 1 + random.below(3) }))
            }
        }

        func value(_ place: Int, _ column: Int) -> Field { .value(.text("\(place) \(column)")) }

        /// The facts of a transaction, as a schema has them.
        func facts(_ place: Int, of schema: MergeSchema) -> [Fact] {
            let dot = headers[place].dot
            let cells = schema.entities[0].cells.enumerated().compactMap { cell, members -> Fact? in
                let value: [Field] = members.map {
                    columns[place].contains($0) ? self.value(place, $0) : .unstated
                }
                if value.allSatisfy({ $0 == .unstated }) { return nil }
                return .cell(
                    PartialVersionTests.uid, entity: 0, cell: cell,
                    Version(dot, incarnation: 1, value: value))
            }
            guard place == 0 else { return cells }
            let life = Life(dot, kind: .created, incarnation: 1)
            return [.life(PartialVersionTests.uid, entity: 0, life)] + cells
        }

        /// Inserts all of it, parts of one version apart and in any order.
        func state(_ schema: MergeSchema, shuffling random: inout SeededRandom) -> MergeState {
            var state = MergeState(schema: schema)
            for header in headers { state.insert(header) }
            var facts = headers.indices.flatMap { self.facts($0, of: schema) }.flatMap(Self.parts)
            for place in facts.indices.reversed() {
                facts.swapAt(place, random.below(place + 1))
            }
            for fact in facts + facts.prefix(2) { state.insert(fact) }
            return state
        }

        private static func parts(_ fact: Fact) -> [Fact] {
            guard case .cell(let uid, let entity, let cell, let version) = fact,
                version.value.count > 1
            else { return [fact] }
            return version.value.indices.compactMap { place in
                guard version.value[place] != .unstated else { return nil }
                var value = [Field](repeating: .unstated, count: version.value.count)
                value[place] = version.value[place]
                return .cell(
                    uid, entity: entity, cell: cell,
                    Version(version.dot, incarnation: version.incarnation, value: value))
            }
        }
    }

    /// Of each column, which transactions state it and are not overwritten.
    private func maximal(_ state: MergeState) throws -> [[Dot: Field]] {
        let record = try #require(state.objects[Self.uid])
        var found = [[Dot: Field]](repeating: [:], count: 4)
        for (cell, members) in state.schema.entities[0].cells.enumerated() {
            for version in record.cells[cell] {
                for (column, field) in zip(members, version.value) where field != .unstated {
                    found[column][version.dot] = field
                }
            }
        }
        return found
    }

    @Test("a cell of several columns has and shows what cells of one column each have and show")
    func equalToCells() throws {
        var random = SeededRandom(seed: 20_261_130)
        #expect(Self.tied.entities[0].cells == [[1, 2, 3]])
        var partialCount = 0
        for _ in 0..<500 {
            let history = History(&random)
            let tied = history.state(Self.tied, shuffling: &random)
            let apart = history.state(Self.apart, shuffling: &random)
            #expect(try maximal(tied) == maximal(apart))
            let rows = [View(tied), View(apart)].map { $0.rows[Self.uid]?.fields }
            #expect(rows[0] != nil && rows[0] == rows[1])
            let record = try #require(tied.objects[Self.uid])
            partialCount += record.hasParts ? 1 : 0
            for versions in record.cells {
                #expect(Set(versions.map(\.dot)).count == versions.count, "one version per dot")
            }
        }
        #expect(partialCount > 100)
    }

    @Test("an object of which a column is missing is not shown")
    func incomplete() throws {
        var state = MergeState(schema: Self.tied)
        let dot = Dot(.random(), 1)
        state.insert(TransactionHeader(dot, time: HybridTime(rawValue: 1), seen: VersionVector()))
        state.insert(.life(Self.uid, entity: 0, Life(dot, kind: .created, incarnation: 1)))
        func part(_ place: Int) -> Fact {
            var value = [Field](repeating: .unstated, count: 3)
            value[place] = .value(.integer(Int64(place)))
            return .cell(Self.uid, entity: 0, cell: 0, Version(dot, incarnation: 1, value: value))
        }
        state.insert(part(0))
        state.insert(part(2))
        #expect(View(state).rows.isEmpty && state.objects[Self.uid]?.isWhole == false)
        state.insert(part(1))
        let shown = View(state).rows[Self.uid]?.fields
        #expect(shown == [.null, .integer(0), .integer(1), .integer(2)].map(Field.value))
        #expect(state.objects[Self.uid]?.hasParts == false)
    }
}
