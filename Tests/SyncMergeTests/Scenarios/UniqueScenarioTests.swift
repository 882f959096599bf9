import SyncMerge
import SyncTesting
import Testing

/// Two replicas claim one UNIQUE value, or one key.
@Suite("Merging: UNIQUE and keys")
struct UniqueScenarioTests {
    @Test("two rows with one private number stay two, each with its number at its writer")
    func privateNumber_insertAgainstInsert() throws {
        let parent = MergeEntity(
            name: "P", columns: [Stage.Column("id", isRequired: true), Stage.Column("d")],
            key: [0], identity: .privateNumber)
        let child = MergeEntity(
            name: "C", columns: [Stage.Column("id", isRequired: true), Stage.Column("f")],
            key: [0], identity: .privateNumber,
            references: [Stage.Reference([1], to: 0, onDelete: .cascade)])
        let replicas = try Stage.replicas(
            2, [parent, child],
            [
                "CREATE TABLE P(id INTEGER PRIMARY KEY, d TEXT)",
                "CREATE TABLE C(id INTEGER PRIMARY KEY, f INTEGER REFERENCES P(id) "
                    + "ON DELETE CASCADE ON UPDATE CASCADE)",
            ])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(348,'a')", "INSERT INTO C VALUES(1,348)")
        try b.transact("INSERT INTO P VALUES(348,'b')", "INSERT INTO C VALUES(1,348)")
        try SimulatedReplica.sync(a, b)
        for replica in replicas {
            #expect(try replica.query("SELECT d FROM P JOIN C ON f=P.id") == [["a"], ["b"]])
        }
        #expect(try a.query("SELECT d FROM P WHERE id=348") == [["a"]])
        #expect(try b.query("SELECT d FROM P WHERE id=348") == [["b"]])
    }

    @Test("rows that claim one value become one, and their children follow")
    func unique_insertAgainstInsert_withChildren() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact(
            "INSERT INTO P VALUES(1,'u','a')", "INSERT INTO C VALUES(1,1,'same'),(2,1,'a')")
        try b.transact(
            "INSERT INTO P VALUES(1,'u','b')", "INSERT INTO C VALUES(1,1,'same'),(2,1,'b')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT * FROM P").count == 1)
        #expect(
            try a.query("SELECT x FROM C JOIN P ON f=P.id") == [["a"], ["b"], ["same"]])
        try a.transact("DELETE FROM P")
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT * FROM P").isEmpty)
        #expect(try b.query("SELECT * FROM C").isEmpty)
    }

    @Test("a later edit of the row that hides behind another reaches it")
    func unique_editOfLoserAgainstEditOfUnifiedRow() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a')")
        try b.transact("INSERT INTO P VALUES(1,'u','b')")
        try a.pull(from: b)
        try a.transact("UPDATE P SET d='seen both'")
        try b.transact("UPDATE P SET d='later'", wall: 1_000_000)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT d FROM P") == [["later"]])
    }

    @Test("a clash that its author ended elsewhere splits again")
    func unique_insertAgainstInsert_thenAuthorRenames() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a')")
        try b.transact("INSERT INTO P VALUES(1,'u','b')")
        let early = b.state.delta(since: VersionVector())
        try b.transact("UPDATE P SET u='v'")
        #expect(try a.receive(early))
        #expect(try a.query("SELECT * FROM P").count == 1)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT u, d FROM P") == [["u", "a"], ["v", "b"]])
    }

    @Test("a key update of a row of two does not free the hidden one")
    func unique_keyUpdateOfUnifiedRow() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a')")
        try b.transact("INSERT INTO P VALUES(1,'u','b')")
        try SimulatedReplica.sync(a, b)
        try a.transact("UPDATE P SET u='w'")
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT * FROM P").count == 1)
    }

    @Test("keepBoth shows the later claim under another name")
    func keepBoth_insertAgainstInsert() throws {
        let replicas = try Stage.uniqueParents(.keepBoth)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a')")
        try b.transact("INSERT INTO P VALUES(1,'u','b')", wall: 99)
        try SimulatedReplica.sync(a, b)
        let rows = try a.query("SELECT d, u FROM P")
        #expect(rows[0] == ["a", "u"])
        #expect(rows[1][0] == "b")
        #expect(rows[1][1].description.hasPrefix("'u~"))
    }

    @Test("a clash of updates of old rows keeps both: the later claim is shown as NULL")
    func unique_updateAgainstUpdate() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
        try SimulatedReplica.sync(a, b)
        try a.transact("UPDATE P SET u='w' WHERE d='a'")
        try b.transact("UPDATE P SET u='w' WHERE d='b'", wall: 99)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT d, u FROM P") == [["a", "w"], ["b", nil]])
        #expect(a.hasLogged([.value("w")]))
    }

    @Test("where NULL is not legal, a clash of updates hides the later row")
    func unique_updateAgainstUpdate_notNull() throws {
        let replicas = try Stage.replicas(
            3,
            [
                MergeEntity(
                    name: "P",
                    columns: [
                        Stage.Column("id", isRequired: true),
                        Stage.Column("u", isRequired: true, isRenameable: true), Stage.Column("d"),
                    ], key: [0], identity: .privateNumber, uniques: [[1]])
            ], ["CREATE TABLE P(id INTEGER PRIMARY KEY, u TEXT UNIQUE NOT NULL, d TEXT)"])
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try a.transact("INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
        try SimulatedReplica.sync(a, b, c)
        try a.transact("UPDATE P SET u='w' WHERE d='a'")
        try b.transact("UPDATE P SET u='w' WHERE d='b'", wall: 99)
        try SimulatedReplica.sync(a, b, c)
        #expect(try c.query("SELECT d, u FROM P") == [["a", "w"]])
        #expect(c.view.heldBack.count == 1)
        // A commit that makes room for it is no delete of it.
        try a.transact("UPDATE P SET u='x' WHERE d='a'")
        #expect(try a.query("SELECT d, u FROM P") == [["a", "x"], ["b", "w"]])
        try SimulatedReplica.sync(a, b, c)
        #expect(try c.query("SELECT d, u FROM P") == [["a", "x"], ["b", "w"]])
        #expect(c.view.conflicts.isEmpty)
    }

    @Test("laterLoses keeps both rows also when both were inserted")
    func laterLoses_insertAgainstInsert() throws {
        let replicas = try Stage.uniqueParents(.laterLoses)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a')")
        try b.transact("INSERT INTO P VALUES(1,'u','b')", wall: 99)
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT d, u FROM P") == [["a", "u"], ["b", nil]])
    }

    @Test("three claims become one row")
    func unique_threeInserts() throws {
        let replicas = try Stage.uniqueParents(count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        for (replica, name) in zip(replicas, ["a", "b", "c"]) {
            try replica.transact("INSERT INTO P VALUES(1,'u','\(name)')")
        }
        try b.pull(from: a)
        try c.pull(from: b)
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT * FROM P").count == 1)
    }

    @Test("two rows swap a UNIQUE value while one of them is edited")
    func unique_swapAgainstEdit() throws {
        let replicas = try Stage.uniqueParents()
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u','a'),(2,'v','b')")
        try SimulatedReplica.sync(a, b)
        try a.transact(
            "UPDATE P SET u='t' WHERE d='a'", "UPDATE P SET u='u' WHERE d='b'",
            "UPDATE P SET u='v' WHERE d='a'")
        try b.transact("UPDATE P SET d='e' WHERE d='a'")
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT u, d FROM P") == [["u", "b"], ["v", "e"]])
    }

    @Test("a key update is followed by references; the old key is free for another object")
    func naturalKey_updateAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.restrict)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','x')")
        try SimulatedReplica.sync(a, b)
        let (old, new) = (RowKey(entity: 0, ["p"]), RowKey(entity: 0, ["q"]))
        try a.transact("UPDATE P SET k='q'", rekeyed: [new: old])
        try b.transact("INSERT INTO C VALUES('c','p','y')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT f FROM C") == [["q"]])
        #expect(try b.query("SELECT k FROM P") == [["q"]])
        try b.transact("INSERT INTO P VALUES('p','fresh')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT k, d FROM P") == [["p", "fresh"], ["q", "x"]])
    }

    @Test("equal natural keys are one object")
    func naturalKey_insertAgainstInsert() throws {
        let replicas = try Stage.parentAndChild(.restrict)
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','a')")
        try b.transact("INSERT INTO P VALUES('p','b')", wall: 50)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT k, d FROM P") == [["p", "b"]])
        #expect(a.view.rows.values.allSatisfy { $0.members.count == 1 })
    }

    @Test("a row that a union breaks is hidden and logged")
    func unique_unionAgainstCheckOverReferences() throws {
        let parent = MergeEntity(
            name: "P",
            columns: [Stage.Column("id", isRequired: true), Stage.Column("u", isRequired: true)],
            key: [0], identity: .privateNumber, uniques: [[1]])
        let friends = MergeEntity(
            name: "F",
            columns: [
                Stage.Column("x", isRequired: true), Stage.Column("y", isRequired: true),
                Stage.Column("d"),
            ], key: [0, 1], identity: .key,
            references: [
                Stage.Reference([0], to: 0, onDelete: .cascade),
                Stage.Reference([1], to: 0, onDelete: .cascade),
            ], checks: [.init([0, 1]) { $0[0] != $0[1] }])
        let reference = "INTEGER NOT NULL REFERENCES P(id) ON DELETE CASCADE ON UPDATE CASCADE"
        let replicas = try Stage.replicas(
            2, [parent, friends],
            [
                "CREATE TABLE P(id INTEGER PRIMARY KEY, u TEXT NOT NULL UNIQUE)",
                "CREATE TABLE F(x \(reference), y \(reference), d TEXT, PRIMARY KEY(x, y), "
                    + "CHECK(x<>y))",
            ])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES(1,'u')")
        try SimulatedReplica.sync(a, b)
        try a.transact("UPDATE P SET u='w'")
        try b.transact("INSERT INTO P VALUES(2,'w')", "INSERT INTO F VALUES(1,2,'friends')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT * FROM F").isEmpty)
        #expect(a.hasLogged([.value("friends")]))
        #expect(try a.query("SELECT * FROM P").count == 1)
    }

    @Test("the name of a row of several does not depend on who arrived first")
    func unique_chainsOfClashesInDifferentOrders() throws {
        let replicas = try Stage.uniqueParents(count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        for (replica, name) in zip(replicas, ["a", "b", "c"]) {
            try replica.transact("INSERT INTO P VALUES(1,'u','\(name)')")
        }
        try a.pull(from: b)
        try a.transact("UPDATE P SET u='x'")
        try c.pull(from: b)
        try c.transact("UPDATE P SET u='y'")
        try SimulatedReplica.sync(a, b, c)
        #expect(Set(replicas.map(\.view.order)).count == 1)
        #expect(a.view.rows.count == 1)
    }
}
