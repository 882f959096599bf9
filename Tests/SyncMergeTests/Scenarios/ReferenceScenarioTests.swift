import SyncMerge
import SyncTesting
import Testing

/// A parent is deleted while somebody else gives it a child.
@Suite("Merging: references")
struct ReferenceScenarioTests {
    /// A has p; A deletes it while B inserts c → p; then both sync.
    private func deleteAgainstNewChild(_ replicas: [SimulatedReplica]) throws {
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO P VALUES('p','x')")
        try SimulatedReplica.sync(a, b)
        try a.transact("DELETE FROM P WHERE k='p'")
        try b.transact("INSERT INTO C VALUES('c','p','y')")
        try SimulatedReplica.sync(a, b)
    }

    @Test("RESTRICT and NO ACTION bring the parent back", arguments: ["RESTRICT", "NO ACTION"])
    func restrict_deleteOfParentAgainstNewChild(action: String) throws {
        let replicas = try Stage.parentAndChild(.restrict, actionSQL: action)
        let (a, b) = (replicas[0], replicas[1])
        try deleteAgainstNewChild(replicas)
        #expect(try a.query("SELECT k FROM P") == [["p"]])
        #expect(try a.query("SELECT k FROM C") == [["c"]])
        #expect(a.hasLogged(.deleteLost))
        try a.transact("DELETE FROM C")
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT k FROM P") == [["p"]], "who saw the parent keeps it")
    }

    @Test("CASCADE ends the child, and its values are in the log")
    func cascade_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.cascade)
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT * FROM P").isEmpty)
        #expect(try replicas[0].query("SELECT * FROM C").isEmpty)
        #expect(replicas[0].hasLogged([.value("y")]))
    }

    @Test("a child that CASCADE keeps out comes back with its parent")
    func cascade_insertOfParentAgain() throws {
        let replicas = try Stage.parentAndChild(.cascade)
        let (a, b) = (replicas[0], replicas[1])
        try deleteAgainstNewChild(replicas)
        #expect(a.view.heldBack.count == 1)
        try a.transact("INSERT INTO P VALUES('p','again')")
        #expect(try a.query("SELECT k, f FROM C") == [["c", "p"]])
        try SimulatedReplica.sync(a, b)
        #expect(try b.query("SELECT k, f FROM C") == [["c", "p"]])
        #expect(a.view.conflicts.isEmpty && b.view.conflicts.isEmpty)
    }

    @Test("CASCADE under editWins brings the parent back")
    func cascade_editWins_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.cascade, childPolicy: .editWins)
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k FROM P") == [["p"]])
    }

    @Test("SET NULL shows NULL, and the reference is in the log")
    func setNull_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.setNull)
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k, f FROM C") == [["c", nil]])
        #expect(try replicas[0].query("SELECT k FROM P").isEmpty)
        #expect(replicas[0].log.values.contains { $0.value.first?.target != nil })
    }

    @Test("SET NULL that NOT NULL forbids acts as RESTRICT")
    func setNullOfRequiredColumn_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.setNull, isRequired: true)
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k, f FROM C") == [["c", "p"]])
        #expect(try replicas[0].query("SELECT k FROM P") == [["p"]])
    }

    @Test("SET NULL that a CHECK refuses acts as RESTRICT")
    func setNullRefusedByCheck_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.setNull, refusesNull: true)
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k, f FROM C") == [["c", "p"]])
    }

    @Test("SET DEFAULT shows the default row")
    func setDefault_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.setDefault, isRequired: true, fallback: "z")
        try replicas[0].transact("INSERT INTO P VALUES('z','default')")
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k, f FROM C") == [["c", "z"]])
        #expect(try replicas[0].query("SELECT k FROM P") == [["z"]])
    }

    @Test("SET DEFAULT without a default row acts as RESTRICT")
    func setDefaultWithoutRow_deleteOfParentAgainstNewChild() throws {
        let replicas = try Stage.parentAndChild(.setDefault, isRequired: true, fallback: "z")
        try deleteAgainstNewChild(replicas)
        #expect(try replicas[0].query("SELECT k, f FROM C") == [["c", "p"]])
    }

    @Test("a default row that is not shown is no default")
    func setDefault_defaultRowCascadesAway() throws {
        let entities = [
            Stage.named("G"), Stage.named("P", refersTo: 0),
            Stage.named(
                "C", refersTo: 1, .setDefault, isRequired: true, fallback: "z",
                extra: [Stage.Column("d")]),
        ]
        let replicas = try Stage.replicas(
            2, entities,
            [
                "CREATE TABLE G(k TEXT PRIMARY KEY NOT NULL)",
                "CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL, f TEXT REFERENCES G(k) "
                    + "ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL, f TEXT NOT NULL DEFAULT 'z' "
                    + "REFERENCES P(k) ON DELETE SET DEFAULT ON UPDATE CASCADE, d TEXT)",
            ])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO G VALUES('g')", "INSERT INTO P VALUES('p',NULL)")
        try SimulatedReplica.sync(a, b)
        try a.transact("DELETE FROM G", "DELETE FROM P")
        try b.transact("INSERT INTO P VALUES('z','g')", "INSERT INTO C VALUES('c','p','y')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT * FROM P").isEmpty)
        #expect(try a.query("SELECT * FROM C").isEmpty)
        #expect(a.hasLogged([.value("y")]))
    }

    @Test("an edit of a revived row makes it live")
    func restrict_editOfRevivedParentAgainstDeleteOfChild() throws {
        let replicas = try Stage.parentAndChild(.restrict, count: 3)
        let (a, b, c) = (replicas[0], replicas[1], replicas[2])
        try a.transact("INSERT INTO P VALUES('p','x')")
        try SimulatedReplica.sync(a, b, c)
        try b.transact("INSERT INTO C VALUES('c','p','y')")
        try SimulatedReplica.sync(b, c)
        try a.transact("DELETE FROM P")
        try SimulatedReplica.sync(a, b)
        try b.transact("UPDATE P SET d='kept'")  // b sees the revived row
        try c.transact("DELETE FROM C")  // c has not seen the delete of p
        try SimulatedReplica.sync(a, b, c)
        #expect(try a.query("SELECT k, d FROM P") == [["p", "kept"]])
    }

    @Test("a composite reference is one value: its columns never mix")
    func compositeReference_concurrentUpdatesOfItsParts() throws {
        let parent = MergeEntity(
            name: "P",
            columns: [
                Stage.Column("x", isRequired: true), Stage.Column("y", isRequired: true),
            ], key: [0, 1], identity: .key)
        let child = MergeEntity(
            name: "C",
            columns: [
                Stage.Column("k", isRequired: true), Stage.Column("fx"), Stage.Column("fy"),
            ], key: [0], identity: .key,
            references: [Stage.Reference([1, 2], to: 0, onDelete: .restrict)])
        let replicas = try Stage.replicas(
            2, [parent, child],
            [
                "CREATE TABLE P(x TEXT NOT NULL, y INTEGER NOT NULL, PRIMARY KEY(x, y))",
                "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL, fx TEXT, fy INTEGER, "
                    + "FOREIGN KEY(fx, fy) REFERENCES P(x, y) ON UPDATE CASCADE)",
            ])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact(
            "INSERT INTO P VALUES('p',1),('p',2),('q',1)", "INSERT INTO C VALUES('c','p',1)")
        try SimulatedReplica.sync(a, b)
        try a.transact("UPDATE C SET fx='q'")
        try b.transact("UPDATE C SET fy=2", wall: 99)
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT fx, fy FROM C") == [["p", 2]])
    }

    @Test("a revived row lifts the parent that it would have cascaded with")
    func cascadeAboveRestrict_deleteOfGrandparentAgainstNewChild() throws {
        let entities = [
            Stage.named("G"), Stage.named("P", refersTo: 0),
            Stage.named("C", refersTo: 1, .restrict),
        ]
        let replicas = try Stage.replicas(
            2, entities,
            [
                "CREATE TABLE G(k TEXT PRIMARY KEY NOT NULL)",
                "CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL, f TEXT REFERENCES G(k) "
                    + "ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL, f TEXT REFERENCES P(k) "
                    + "ON DELETE RESTRICT ON UPDATE CASCADE)",
            ])
        let (a, b) = (replicas[0], replicas[1])
        try a.transact("INSERT INTO G VALUES('g')", "INSERT INTO P VALUES('p','g')")
        try SimulatedReplica.sync(a, b)
        try a.transact("DELETE FROM G")
        try b.transact("INSERT INTO C VALUES('c','p')")
        try SimulatedReplica.sync(a, b)
        #expect(try a.query("SELECT k FROM G") == [["g"]])
        #expect(try a.query("SELECT k FROM P") == [["p"]])
    }
}
