import Testing

@testable import SyncMerge
@testable import SyncValues

/// One form of a fact on all replicas.
@Suite("Fact items")
struct FactItemsTests {
    private let store = StoreID.random()
    private let uid = ObjectUID.random()
    private let a = ReplicaID.random()
    private let b = ReplicaID.random()

    private func schema(_ columns: [String], table: String = "Album", couple: Bool = false)
        -> MergeSchema
    {
        MergeSchema([
            MergeEntity(
                name: table,
                columns: [.init("id", isRequired: true)]
                    + columns.map { .init($0, defaultValue: .integer(7)) },
                key: [0], identity: .privateNumber,
                checks: couple ? [.init([1, 2], accepts: { _ in true })] : [])
        ])
    }

    private func version(_ dot: Dot, _ values: Value...) -> Version {
        Version(dot, incarnation: 1, value: values.map(Field.value))
    }

    private func record(_ cells: [[Version]], life: [Life]? = nil) -> ObjectRecord {
        var record = ObjectRecord(entity: 0, cellCount: cells.count)
        record.life = life ?? [Life(Dot(a, 1), kind: .created, incarnation: 1)]
        record.cells = cells
        return record
    }

    @Test("positions and spelling of tables and columns do not count, values and names do")
    func names() {
        let (one, two) = (version(Dot(a, 1), .text("x")), version(Dot(a, 2), .integer(1)))
        let items = FactItems(schema(["Title", "Year"]), store: store)
        let other = FactItems(schema(["year", "TITLE"], table: "ALBUM"), store: store)
        let sum = items.facts(uid, record([[one], [two]]))
        #expect(sum != 0)
        #expect(sum == other.facts(uid, record([[two], [one]])))
        #expect(sum != items.facts(uid, record([[two], [one]])), "the values are exchanged")
        #expect(sum != items.facts(.random(), record([[one], [two]])))
        let renamed = FactItems(schema(["Title", "Jahr"]), store: store)
        #expect(sum != renamed.facts(uid, record([[one], [two]])))
        #expect(
            sum
                != FactItems(schema(["Title", "Year"]), store: .random()).facts(
                    uid, record([[one], [two]])))
        #expect(items.structure(of: 0) == other.structure(of: 0))
        #expect(items.structure(of: 0) != renamed.structure(of: 0))
    }

    @Test("which columns are one cell does not count, and neither does their order in it")
    func cells() {
        let items = FactItems(schema(["Title", "Year"], couple: true), store: store)
        let other = FactItems(schema(["Year", "Title"], couple: true), store: store)
        let apart = FactItems(schema(["Title", "Year"]), store: store)
        let (title, year) = (Value.text("x"), Value.integer(1))
        let dot = Dot(a, 1)
        let sum = items.facts(uid, record([[version(dot, title, year)]]))
        #expect(sum == other.facts(uid, record([[version(dot, year, title)]])))
        #expect(sum == apart.facts(uid, record([[version(dot, title)], [version(dot, year)]])))
        #expect(items.structure(of: 0) == apart.structure(of: 0))
        let later = Version(Dot(b, 1), incarnation: 1, value: [.unstated, .value(.integer(2))])
        let former = Version(dot, incarnation: 1, value: [.value(title), .unstated])
        let parts = items.facts(uid, record([[later, former]]))
        let cells = record([[version(dot, title)], [version(Dot(b, 1), .integer(2))]])
        #expect(parts == apart.facts(uid, cells) && parts != sum)
    }

    @Test("facts that have no order are sorted; each dot, incarnation and kind counts")
    func order() {
        let items = FactItems(schema(["Title"]), store: store)
        let (one, two) = (version(Dot(a, 1), .text("x")), version(Dot(b, 1), .text("y")))
        let sum = items.facts(uid, record([[one, two]]))
        #expect(sum == items.facts(uid, record([[two, one]])))
        #expect(sum != items.facts(uid, record([[one]])))
        #expect(sum != items.facts(uid, record([[one, version(Dot(b, 2), .text("y"))]])))
        let lives = [
            Life(Dot(a, 1), kind: .created, incarnation: 1),
            Life(Dot(b, 1), kind: .revived, incarnation: 1),
        ]
        let many = items.facts(uid, record([[one]], life: lives))
        #expect(many == items.facts(uid, record([[one]], life: lives.reversed())))
        #expect(many != items.facts(uid, record([[one]])))
    }

    @Test("what may be collected is not counted, and neither is a default")
    func leftOut() {
        let items = FactItems(schema(["Title", "Year"]), store: store)
        let one = version(Dot(a, 1), .text("x"))
        let dead = record([[one], []], life: [Life(Dot(a, 2), kind: .deleted, incarnation: 1)])
        #expect(items.facts(uid, dead) == 0)
        #expect(items.facts(uid, record([[one], []], life: [])) == 0, "half a batch")
        let plain = items.facts(uid, record([[one], []]))
        let (early, late) = (version(Dot(a, 1), .integer(7)), version(Dot(b, 9), .integer(7)))
        #expect(plain == items.facts(uid, record([[one], [early]])))
        #expect(plain == items.facts(uid, record([[one], [late]])))
        #expect(plain == items.facts(uid, record([[one], [early, late]])))
        let other = version(Dot(b, 9), .integer(8))
        let beside = items.facts(uid, record([[one], [early, other]]))
        #expect(beside == items.facts(uid, record([[one], [other]])) && beside != plain)
        #expect(plain != items.facts(uid, record([[one], [version(Dot(a, 1), .integer(8))]])))
    }

    @Test("sums come back from their bytes; any changed or missing byte is noticed")
    func coding() throws {
        let sums = StateSums(
            at: Array(0..<16), schema: 5,
            entities: [
                .init(name: 1, structure: 2, facts: .max, shown: 1 << 100),
                .init(name: .max, structure: 0, facts: 3, shown: 0),
            ])
        let bytes = sums.encoded(store: store)
        #expect(try StateSums(bytes, store: store) == sums)
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= 4
            #expect(throws: SyncError(.badData, "")) { try StateSums(damaged, store: store) }
            #expect(throws: SyncError.self) {
                try StateSums(Array(bytes[..<place]), store: store)
            }
        }
        #expect(throws: SyncError(.badData, "")) { try StateSums(bytes + [0], store: store) }
        #expect(throws: SyncError(.badData, "")) { try StateSums(bytes, store: .random()) }
    }

    @Test("only sums of one moment, one structure and one schema are compared")
    func comparing() {
        func sums(
            at: UInt8 = 0, schema: UInt64? = 1, structure: UInt64 = 1, facts: UInt128 = 1,
            shown: UInt128 = 1
        ) -> StateSums {
            StateSums(
                at: Array(repeating: at, count: 16), schema: schema,
                entities: [.init(name: 9, structure: structure, facts: facts, shown: shown)])
        }
        #expect(sums().compared(with: sums()) == .init(compared: [9]))
        #expect(sums().compared(with: sums(facts: 2)) == .init(compared: [9], different: [9]))
        #expect(sums().compared(with: sums(shown: 2)) == .init(compared: [9], different: [9]))
        #expect(sums().compared(with: sums(at: 1, facts: 2)) == nil)
        #expect(sums().compared(with: sums(structure: 2, facts: 2)) == .init(uncompared: [9]))
        #expect(sums().compared(with: sums(schema: 2, shown: 2)) == .init(compared: [9]))
        #expect(
            sums(schema: nil).compared(with: sums(schema: nil, shown: 2))
                == .init(compared: [9]))
    }
}

/// Which batches are the last of those that were made together.
@Suite("Batch goals")
struct BatchGoalTests {
    private let sender = ReplicaID.random()

    private func batch(facts: Int, transactions: Int = 1) -> Batch {
        let uid = ObjectUID.random()
        let headers = (1...transactions).map {
            TransactionHeader(
                Dot(sender, Int64($0)), time: HybridTime(rawValue: 1), seen: VersionVector())
        }
        return Batch(
            store: .random(), sender: sender, from: VersionVector(),
            upTo: VersionVector([Dot(sender, Int64(transactions))]), entities: [],
            transactions: headers.map { Batch.Transaction($0) },
            facts: Array(
                repeating: .life(
                    uid, entity: 0, Life(Dot(sender, 1), kind: .created, incarnation: 1)),
                count: facts))
    }

    @Test("a large batch of version 1 may not be the last one; a stated goal counts")
    func goals() {
        #expect(batch(facts: 1).likelyGoal == batch(facts: 1).upTo)
        let beyond = VersionVector([Dot(sender, 2)])
        #expect(batch(facts: 50_000).likelyGoal == beyond)
        #expect(batch(facts: 0, transactions: 20_000).likelyGoal[sender] == 20_001)
        var stated = batch(facts: 1)
        stated.goal = beyond
        #expect(stated.likelyGoal == beyond)
        var whole = batch(facts: 50_000)
        whole.hasGaps = true
        #expect(whole.likelyGoal == whole.upTo)
    }
}
