import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// What two schemas of the same time were before: what one of them has dropped is told from what
/// the other one has made.
@Suite("What concurrent schemas were before")
struct SchemaBaseTests {
    private let folder: TemporaryFolder
    private let a: TestStore
    private let b: TestStore
    private let c: TestStore

    init() throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(
            folder.file("a.db"),
            schema: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); "
                + "INSERT INTO item VALUES (1, 'x')")
        try a.replica.startSigning()
        func clone(_ name: String) throws -> TestStore {
            let path = folder.file(name)
            return try TestStore(path, StoreReplica.clone(at: path, from: a.replica.export()))
        }
        let (b, c) = (try clone("b.db"), try clone("c.db"))
        try TestStore.sync(a, b, c)
        (self.folder, self.a, self.b, self.c) = (folder, a, b, c)
    }

    private func state(_ store: TestStore, _ sql: String) throws {
        try store.run(sql)
        _ = try store.replica.vector
    }

    private func apply(_ store: TestStore) throws {
        let comparison = try #require(try store.replica.compareSchema())
        #expect(try StoreReplica.applySchema(comparison, at: store.path).isEmpty)
        _ = try store.replica.vector
    }

    /// All three know it, and nothing waits for it.
    private func expectDropped(
        _ column: String, of table: String, location: SourceLocation = #_sourceLocation
    ) throws {
        for store in [a, b, c] {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(content.hasDropped(column, of: table), sourceLocation: location)
            let isSettled = try store.replica.waiting.allSatisfy(\.isSettled)
            #expect(isSettled, sourceLocation: location)
        }
    }

    private func expect(
        _ names: Set<String>, at stores: TestStore..., location: SourceLocation = #_sourceLocation
    ) throws {
        for store in stores {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(Set(content.objects.map(\.name)) == names, sourceLocation: location)
        }
    }

    /// Merges what has the transactions of a replica up to a number, and nothing of the next ones.
    private func pull(_ store: TestStore, from other: TestStore, upTo number: Int64) throws {
        let batches = try other.replica.batches(since: store.replica.vector, factsMax: 1)
        for bytes in batches {
            let batch = try BatchDecoder.decode(bytes)
            if batch.upTo[other.replica.replicaID] > number { return }
            #expect(try store.replica.merge(bytes))
        }
    }

    /// Before it is replaced, nobody has the first statement of `b`, or `c` has it.
    @Test(
        "who gets the transactions of a statement knows it, or nobody does",
        arguments: [false, true])
    func replacedStatement(isSent: Bool) throws {
        try state(b, "INSERT INTO item VALUES (2, 'y'); CREATE TABLE more(id INTEGER PRIMARY KEY)")
        if isSent { try c.pull(from: b) }
        let first = try b.replica.vector[b.replica.replicaID]
        try state(b, "INSERT INTO item VALUES (3, 'z'); CREATE VIEW v AS SELECT 1 AS x")
        try pull(a, from: b, upTo: first)
        #expect(try a.replica.vector[b.replica.replicaID] == first)
        try expect(isSent ? ["item", "more"] : ["item"], at: a)
        try state(a, "CREATE INDEX ix ON item(name)")
        try TestStore.sync(a, b, c)
        try expect(["item", "more", "v", "ix"], at: a, b, c)
    }

    @Test("of two statements that both had seen and that are of the same time, both were before")
    func crissCross() throws {
        try state(a, "CREATE TABLE more(id INTEGER PRIMARY KEY)")
        try state(a, "CREATE TABLE last(id INTEGER PRIMARY KEY)")
        try state(b, "CREATE VIEW v AS SELECT 1 AS x")
        let (fromA, fromB) = (
            try a.replica.batches(since: b.replica.vector),
            try b.replica.batches(since: a.replica.vector)
        )
        for batch in fromA { #expect(try b.replica.merge(batch)) }
        for batch in fromB { #expect(try a.replica.merge(batch)) }
        try expect(["item", "more", "last", "v"], at: a, b)
        try apply(a)
        try state(a, "DROP VIEW v; CREATE INDEX ix ON item(name)")
        try expect(["item", "more", "last", "ix"], at: a)
        try TestStore.sync(a, b, c)
        try expect(["item", "more", "last", "ix"], at: a, b, c)
    }

    /// By the order of the revisions alone, `a` would have known what `b` had stated.
    @Test("what was before is known, too, when the transaction of a statement is collected")
    func collectedTransaction() throws {
        for name in ["i1", "i2", "i3"] {
            try state(a, "INSERT INTO item(name) VALUES ('\(name)')")
            _ = try a.replica.batches(since: VersionVector())
            try state(a, "CREATE INDEX \(name) ON item(name)")
        }
        try state(b, "CREATE VIEW v AS SELECT 1 AS x")
        try c.pull(from: b)
        try state(c, "CREATE VIEW w AS SELECT 1 AS x")
        let fromC = try c.replica.batches(since: a.replica.vector)
        for store in [b, c] { try store.pull(from: a) }
        try a.run("DELETE FROM item")
        let collected = try (0..<3).reduce(0) { count, _ in
            try count + a.replica.collect(lease: .seconds(-1)).transactions
        }
        #expect(collected > 0)
        for batch in fromC { #expect(try a.replica.merge(batch)) }
        try expect(["item", "i1", "i2", "i3", "v", "w"], at: a)
        try TestStore.sync(a, b, c)
        try expect(["item", "i1", "i2", "i3", "v", "w"], at: a, b, c)
    }

    @Test("a new replica does not get back what was dropped beside other changes")
    func newReplica() throws {
        try state(b, "CREATE VIEW v AS SELECT 1 AS x")
        try TestStore.sync(a, b, c)
        try state(b, "CREATE INDEX ix ON item(name)")
        try apply(c)
        try state(c, "CREATE INDEX ix ON item(name)")
        try state(c, "DROP VIEW v")
        try TestStore.sync(a, b, c)
        let path = folder.file("z.db")
        let z = try TestStore(path, StoreReplica.clone(at: path, from: c.replica.export()))
        try expect(["item", "ix"], at: a, b, c, z)
    }

    @Test("a column that was dropped before others had it is known as dropped")
    func droppedEarly() throws {
        try state(a, "ALTER TABLE item ADD COLUMN old TEXT; UPDATE item SET old = 'o'")
        try Store.alter(a.path, running: "ALTER TABLE item DROP COLUMN old")
        _ = try a.replica.vector
        for name in ["qty", "size", "note"] {
            try state(b, "ALTER TABLE item ADD COLUMN \(name) TEXT")
        }
        try TestStore.sync(a, b, c)
        try TestStore.sync(c, b, a)
        try expectDropped("old", of: "item")
    }

    /// The first batch of a snapshot has the newest statement of each replica, for a new one.
    @Test("a statement that is ahead of its transaction says nothing of what its replica had seen")
    func statementAhead() throws {
        try state(b, "INSERT INTO item VALUES (2, 'y'); CREATE TABLE more(id INTEGER PRIMARY KEY)")
        try c.pull(from: b)
        try state(b, "CREATE VIEW v AS SELECT 1 AS x")
        for name in ["i1", "i2", "i3"] { try state(a, "CREATE INDEX \(name) ON item(name)") }
        let snapshot = try a.replica.batches(since: VersionVector(), factsMax: 1)
        #expect(snapshot.count > 1)
        #expect(try b.replica.merge(snapshot[0]))
        _ = try b.replica.batches(since: VersionVector())
        try expect(["item", "more", "v"], at: b)
        for batch in snapshot { #expect(try b.replica.merge(batch)) }
        try expect(["item", "more", "v", "i1", "i2", "i3"], at: b)
        try TestStore.sync(a, b, c)
        try expect(["item", "more", "v", "i1", "i2", "i3"], at: a, b, c)
    }

    /// Else the values of the column would wait for it, for good.
    @Test("a replica that renames a table without a column knows that another one had dropped it")
    func droppedBeforeARename() throws {
        try state(a, "ALTER TABLE item ADD COLUMN old TEXT; UPDATE item SET old = 'o'")
        try Store.alter(a.path, running: "ALTER TABLE item DROP COLUMN old")
        _ = try a.replica.vector
        try TestStore.sync(a, b, c)
        try state(b, "ALTER TABLE item RENAME TO things")
        try TestStore.sync(a, b, c)
        try expect(["things"], at: a, b, c)
        try expectDropped("old", of: "item")
    }

    /// By what each of the others had seen with the newest one alone, the index would be new.
    @Test("what one of three dropped that another one of them has kept stays dropped")
    func droppedByOneOfThree() throws {
        try state(a, "CREATE INDEX ix ON item(name)")
        try c.pull(from: a)
        try state(c, "CREATE VIEW w AS SELECT 1 AS x")
        try Store.alter(a.path, running: "DROP INDEX ix")
        _ = try a.replica.vector
        for name in ["v1", "v2", "v3"] { try state(b, "CREATE VIEW \(name) AS SELECT 1 AS x") }
        try a.pull(from: b)
        try c.pull(from: a)
        try expect(["item", "w", "v1", "v2", "v3"], at: c)
        try TestStore.sync(a, b, c)
        try expect(["item", "w", "v1", "v2", "v3"], at: a, b, c)
    }

    /// Its newest statement alone does not tell that there was an index, and that it was dropped.
    @Test("what a replica made and dropped before another one had its statement stays dropped")
    func droppedBeforeItWasHeardOf() throws {
        try state(a, "CREATE INDEX ix ON item(name)")
        try c.pull(from: a)
        try Store.alter(a.path, running: "DROP INDEX ix")
        _ = try a.replica.vector
        try state(a, "CREATE VIEW va AS SELECT 1 AS x")
        try b.pull(from: a)
        try state(b, "CREATE VIEW vb AS SELECT 1 AS x")
        for name in ["v1", "v2", "v3"] { try state(c, "CREATE VIEW \(name) AS SELECT 1 AS x") }
        try b.pull(from: c)
        try expect(["item", "va", "vb", "v1", "v2", "v3"], at: b)
        try TestStore.sync(a, b, c)
        try expect(["item", "va", "vb", "v1", "v2", "v3"], at: a, b, c)
    }

    /// The copy has the transaction, which was never sent.
    @Test("a statement is not sent with a transaction that a copy of the file may have")
    func statementAfterACopy() throws {
        try state(a, "INSERT INTO item VALUES (2, 'y')")
        try a.run("PRAGMA wal_checkpoint(TRUNCATE)")
        let path = folder.file("d.db")
        try FileManager.default.copyItem(atPath: a.path, toPath: path)
        let d = try TestStore(path, StoreReplica(path))
        try state(a, "ALTER TABLE item ADD COLUMN qty INTEGER")
        for name in ["v1", "v2", "v3"] { try state(d, "CREATE VIEW \(name) AS SELECT 1 AS x") }
        try TestStore.sync(a, d)
        try apply(d)
        #expect(try d.rows("SELECT count(qty) FROM item") == [[.integer(0)]])
        #expect(try d.replica.compareSchema()?.isEqual == true)
    }

    /// Else its replica would be told that it named the table at the same time.
    @Test("a name that a table had before is no name that another replica has given it")
    func nameOfBefore() throws {
        try state(a, "ALTER TABLE item RENAME TO things")
        try TestStore.sync(a, b, c)
        for store in [b, c] { try apply(store) }
        try state(b, "CREATE VIEW v AS SELECT 1 AS x")
        try state(b, "DROP VIEW v")
        try state(a, "ALTER TABLE things RENAME TO goods")
        for name in ["v1", "v2"] { try state(a, "CREATE VIEW \(name) AS SELECT 1 AS x") }
        try TestStore.sync(a, b, c)
        for store in [b, c] { try apply(store) }
        for store in [a, b, c] {
            #expect(try store.rows("SELECT name FROM goods") == [[.text("x")]])
        }
    }
}
