import SyncMerge
import SyncTesting
import Testing

/// Edits against deletes, cells, causality of batches, and collection.
@Suite("Merging: edits, deletes and batches")
struct HistoryScenarioTests {
    @Test("columns that one CHECK ties are one value: the later wins whole")
    func coupledColumns_concurrentUpdates() throws {
        let entity = MergeEntity(
            name: "E",
            columns: [Stage.Column("k", isRequired: true), Stage.Column("a"), Stage.Column("b")],
            key: [0], identity: .key,
            checks: [
                .init([1, 2]) { fields in
                    guard case .value(.integer(let low)) = fields[0],
                        case .value(.integer(let high)) = fields[1]
                    else { return true }
                    return low <= high
                }
            ])
        let replicas = try Stage.replicas(
            2, [entity],
            ["CREATE TABLE E(k TEXT PRIMARY KEY NOT NULL, a INTEGER, b INTEGER, CHECK(a<=b))"])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO E VALUES('x',2,5)")
        try SimulatedReplica.sync(a, b)
        try a.transact("UPDATE E SET a=4")
        try b.transact("UPDATE E SET b=3", wall: 99)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT a, b FROM E") == [[2, 3]])
        #expect(a.hasLogged([.value(4), .value(5)]))
    }

    @Test(
        "delete and insert of one key win against an edit of the old row", arguments: [true, false])
    func deleteAndInsertAgainstEdit(inOneTransaction: Bool) throws {
        let replicas = try Stage.parentAndChild(.cascade)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','old')")
        try SimulatedReplica.sync(a, b)
        if inOneTransaction {
            try a.transact(
                "DELETE FROM P", "INSERT INTO P VALUES('p','new')",
                recreated: [RowKey(entity: 0, ["p"])])
        } else {
            try a.transact("DELETE FROM P")
            try a.transact("INSERT INTO P VALUES('p','new')")
        }
        try b.transact("UPDATE P SET d='edit'", wall: 999)
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT k, d FROM P") == [["p", "new"]])
        #expect(b.hasLogged([.value("edit")]))
    }

    @Test("an insert stands against a delete that had not seen it")
    func insertAgainstDeleteOfAnotherInsert() throws {
        let replicas = try Stage.parentAndChild(.cascade, count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try a.transact("INSERT INTO P VALUES('p','a')")
        try c.pull(from: a)
        try c.transact("DELETE FROM P")
        try b.transact("INSERT INTO P VALUES('p','b')")
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT k, d FROM P") == [["p", "b"]])
    }

    @Test(
        "a delete against an edit: the policy decides, the loser is in the log",
        arguments: [DeletePolicy.deleteWins, .editWins])
    func deleteAgainstEdit(policy: DeletePolicy) throws {
        let entity = MergeEntity(
            name: "P",
            columns: [Stage.Column("k", isRequired: true), Stage.Column("d"), Stage.Column("e")],
            key: [0], identity: .key, deletePolicy: policy)
        let replicas = try Stage.replicas(
            2, [entity], ["CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL, d TEXT, e TEXT)"])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','d','e')")
        try SimulatedReplica.sync(a, b)
        try a.transact("DELETE FROM P")
        try b.transact("UPDATE P SET d='edit'")
        try SimulatedReplica.sync(a, b)
        let rows = try a.query("SELECT * FROM P")
        #expect(rows == (policy == .deleteWins ? [] : [["p", "edit", "e"]]))
        #expect(a.hasLogged([.value("edit")]) == (policy == .deleteWins))
    }

    @Test("an object that was collected too early would be missed by a late revival")
    func collectionAgainstLateRevival() throws {
        let replicas = try Stage.parentAndChild(.restrict, count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try a.transact("INSERT INTO P VALUES('p','x')")
        try SimulatedReplica.sync(a, b, c)
        try b.transact("INSERT INTO C VALUES('c','p','y')")
        try SimulatedReplica.sync(b, c)
        try a.transact("DELETE FROM P")
        let deletion = a.state.delta(since: b.state.vector)
        try c.transact("DELETE FROM C")  // c has not seen the delete of p
        #expect(try b.receive(deletion))
        try c.pull(from: a)
        try a.pull(from: b)  // all know the delete; p is shown at a and b
        try a.pull(from: c)  // a: the child is gone too, p is dead and unreferenced
        for other in [b, c] { a.acknowledge(other.state.vector, of: other.id) }
        for _ in 0..<2 { _ = try a.collect(replicas.map(\.id)) }
        try b.transact("UPDATE P SET d='alive'")  // b still shows p
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT k, d FROM P") == [["p", "alive"]])
    }

    @Test("a cut of a batch is causal: no false siblings come of it")
    func cutBatchAgainstWriteOnTop() throws {
        let replicas = try Stage.parentAndChild(.restrict, count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try b.transact("INSERT INTO P VALUES('p','0')")
        try SimulatedReplica.sync(a, b, c)
        try b.transact("UPDATE P SET d='1'")
        try a.pull(from: b)
        try a.transact("UPDATE P SET d='2'")
        #expect(try c.receive(a.state.delta(since: c.state.vector, first: 2)))
        try c.transact("UPDATE P SET d='3'")
        #expect(try c.receive(b.state.delta(since: VersionVector([Dot(b.id, 1)]))))
        try SimulatedReplica.sync(a, b, c)
        #expect(Set(replicas.map { Set($0.view.conflicts.keys) }).count == 1)
    }

    @Test("a batch that starts after what is here is refused, and nothing of it is merged")
    func gap() throws {
        let replicas = try Stage.parentAndChild(.restrict)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','0')")
        try a.transact("INSERT INTO P VALUES('q','0')")
        #expect(try !b.receive(a.state.delta(since: VersionVector([Dot(a.id, 1)]))))
        #expect(b.state.objects.isEmpty && b.state.vector.isEmpty)
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT * FROM P").count == 2)
    }
}
