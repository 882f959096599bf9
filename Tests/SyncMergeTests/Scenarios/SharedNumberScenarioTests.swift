import SyncTesting
import Testing

@testable import SyncMerge

/// Numbers that are the same on every replica: of several claims of one number the earliest holds.
@Suite("Merging: shared numbers")
struct SharedNumberScenarioTests {
    /// P(id, d), whose numbers are shared, and C(f → P, x), whose key contains the reference.
    private func replicas(
        _ count: Int = 2, deletes: DeletePolicy = .deleteWins, uniqueD: Bool = false
    ) throws -> [SimulatedReplica] {
        let parent = MergeEntity(
            name: "P", columns: [Stage.Column("id", isRequired: true), Stage.Column("d")],
            key: [0], identity: .sharedNumber, uniques: uniqueD ? [[1]] : [],
            deletePolicy: deletes)
        let child = MergeEntity(
            name: "C",
            columns: [Stage.Column("f", isRequired: true), Stage.Column("x", isRequired: true)],
            key: [0, 1], identity: .key,
            references: [Stage.Reference([0], to: 0, onDelete: .cascade)])
        return try Stage.replicas(
            count, [parent, child],
            [
                "CREATE TABLE P(id INTEGER PRIMARY KEY, d TEXT\(uniqueD ? " UNIQUE" : ""))",
                "CREATE TABLE C(f INTEGER NOT NULL REFERENCES P(id) ON DELETE CASCADE "
                    + "ON UPDATE CASCADE, x TEXT NOT NULL, PRIMARY KEY(f, x))",
            ])
    }

    private func key(_ number: Int64) -> RowKey { RowKey(entity: 0, [.integer(number)]) }

    @Test("the earlier claim keeps the number; the later row gets the next one, and is followed")
    func insertAgainstInsert() throws {
        let replicas = try replicas()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(5,'a')", "INSERT INTO C VALUES(5,'a')", wall: 10)
        try b.transact(
            "INSERT INTO P VALUES(5,'b'),(6,'b6')", "INSERT INTO C VALUES(5,'b')", wall: 20)
        try SimulatedReplica.sync(a, b)
        for replica in replicas {
            #expect(
                try replica.query("SELECT id, d FROM P") == [[5, "a"], [6, "b6"], [7, "b"]])
            #expect(try replica.query("SELECT f, x FROM C") == [[5, "a"], [7, "b"]])
        }
        #expect(a.takeRenumberings().isEmpty)
        #expect(b.takeRenumberings().count == 1)
    }

    @Test("a row that REPLACE writes again keeps the age of its claim")
    func replaceKeepsAge() throws {
        let replicas = try replicas()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try b.transact("INSERT INTO P VALUES(5,'b')", wall: 20)
        try a.transact("REPLACE INTO P VALUES(5,'a2')", recreated: [key(5)], wall: 30)
        try a.transact("REPLACE INTO P VALUES(5,'a3')", recreated: [key(5)], wall: 40)
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT id, d FROM P") == [[5, "a3"], [6, "b"]])
    }

    @Test("a row that was deleted claims nothing")
    func deletedBeforeExchange() throws {
        let replicas = try replicas()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try a.transact("DELETE FROM P", wall: 11)
        try b.transact("INSERT INTO P VALUES(5,'b')", wall: 20)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT id, d FROM P") == [[5, "b"]])
        #expect(b.takeRenumberings().isEmpty)
    }

    @Test("a row whose replica does not return is shown under one negative number everywhere")
    func absentAuthor() throws {
        let replicas = try replicas(3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try b.transact("INSERT INTO P VALUES(5,'b')", "INSERT INTO C VALUES(5,'x')", wall: 20)
        try c.pull(from: b)
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try SimulatedReplica.sync(a, c)
        for replica in [a, c] {
            let rows = try replica.query("SELECT id, d FROM P WHERE id < 0")
            #expect(rows.count == 1 && rows[0][1] == "b")
            #expect(try replica.query("SELECT f FROM C") == [[rows[0][0]]])
            #expect(try replica.query("SELECT d FROM P WHERE id = 5") == [["a"]])
        }
        // SQLite goes on from the greatest number.
        try c.transact("INSERT INTO P(d) VALUES('c')", wall: 30)
        #expect(try c.query("SELECT id FROM P WHERE d='c'") == [[6]])
        // The replica returns, and gives it the next number that it knows.
        try b.pull(from: c)
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT id, d FROM P") == [[5, "a"], [6, "c"], [7, "b"]])
    }

    @Test("who deletes the row with the number gives the one that waits for it another")
    func deleteOfHolder() throws {
        let replicas = try replicas(3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try b.transact("INSERT INTO P VALUES(5,'b')", wall: 20)
        try c.pull(from: b)
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try c.pull(from: a)
        try c.transact("DELETE FROM P WHERE id = 5", wall: 30)
        #expect(try c.query("SELECT id, d FROM P") == [[6, "b"]])
        try SimulatedReplica.sync(a, c)
        #expect(try a.query("SELECT id, d FROM P") == [[6, "b"]])
        try SimulatedReplica.sync(a, b, c)
        #expect(try b.query("SELECT id, d FROM P") == [[6, "b"]])
    }

    @Test("a delete that arrives gives the number to the row that waits for it")
    func deleteElsewhere() throws {
        let replicas = try replicas(3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try b.transact("INSERT INTO P VALUES(5,'b')", wall: 20)
        try c.pull(from: b)
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try c.pull(from: a)
        try a.transact("DELETE FROM P WHERE id = 5", wall: 30)
        try c.pull(from: a)
        #expect(try c.query("SELECT id, d FROM P") == [[5, "b"]])
        try SimulatedReplica.sync(a, b, c)
        #expect(try b.query("SELECT id, d FROM P") == [[5, "b"]])
    }

    @Test("renumbering is no edit: it does not keep an object that was deleted")
    func renumberingAgainstDelete() throws {
        let replicas = try replicas(3, deletes: .editWins)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try b.transact("INSERT INTO P VALUES(5,'b')", wall: 20)
        try c.pull(from: b)
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try c.pull(from: a)
        try c.transact("DELETE FROM P WHERE d = 'b'", wall: 30)
        try b.pull(from: a)
        #expect(try b.query("SELECT id, d FROM P") == [[5, "a"], [6, "b"]])
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT id, d FROM P") == [[5, "a"]])
    }

    @Test("a key that is changed by hand is a new claim")
    func renumberingByHand() throws {
        let replicas = try replicas()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(5,'a')", wall: 10)
        try b.pull(from: a)
        try b.transact("INSERT INTO P VALUES(9,'b')", wall: 20)
        try a.transact("UPDATE P SET id = 9", rekeyed: [key(9): key(5)], wall: 30)
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT id, d FROM P") == [[10, "a"], [9, "b"]])
    }

    @Test("a row that two inserts made has the number of the earlier one")
    func unitedRow() throws {
        let replicas = try replicas(uniqueD: true)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(5,'same')", wall: 20)
        try b.transact("INSERT INTO P VALUES(7,'same')", "INSERT INTO C VALUES(7,'b')", wall: 10)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT id, f FROM P, C") == [[7, 7]])
        try a.transact("UPDATE P SET id = 3", rekeyed: [key(3): key(7)])
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT id, f FROM P, C") == [[3, 3]])
    }

    @Test("above the greatest number there is the least free one is taken")
    func greatestNumber() throws {
        let replicas = try replicas()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'one'),(\(Int64.max),'a')", wall: 10)
        try b.transact("INSERT INTO P VALUES(\(Int64.max),'b'),(\(Int64.min),'m')", wall: 20)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT id FROM P WHERE d = 'b'") == [[2]])
        #expect(try a.query("SELECT id FROM P WHERE d = 'm'") == [[.integer(.min)]])
    }

    @Test("the number of a row without one is that of the specification, and exact in JSON")
    func fallbackNumbers() throws {
        let uid = try #require(ObjectUID("369170486eab00000000015c91e4753b"))
        #expect(FallbackNumber.of(uid, 1) == -1_552_592_369_779_749)
        #expect(FallbackNumber.of(uid, 2) == -1_021_239_946_876_364)
        var random = SeededRandom(seed: 1)
        for _ in 0..<1000 {
            let uid = ObjectUID(high: random.next(), low: random.next())
            let number = FallbackNumber.of(uid, 1)
            #expect(number < 0 && number >= -(1 << 51))
        }
    }

    @Test("a claim that is no claim is the claim of no number")
    func damagedClaims() {
        let state = MergeState(schema: MergeSchema([]))
        let dot = Dot(SimulatedReplica.id("A"), 1)
        let values: [Value] = [
            .null, .text("5"), .real(5), .blob([]), .blob([1]), .blob([2, 0, 0]),
            .blob(Array(repeating: 1, count: 40)),
        ]
        for value in values {
            let version = Version(dot, incarnation: 1, value: [.value(value)])
            #expect(NumberClaim(version, in: state).number == nil)
        }
        #expect(NumberClaim(Version(dot, incarnation: 1, value: []), in: state).number == nil)
    }
}
