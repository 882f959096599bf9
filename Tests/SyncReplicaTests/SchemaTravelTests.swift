import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A replica learns the schema of the others, and applies the safe part of it.
@Suite("The schema travels")
struct SchemaTravelTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pair(_ schema: String) throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: schema)
        try a.replica.startSigning()
        return (a, try clone(a, "b.db"))
    }

    private func clone(_ store: TestStore, _ name: String) throws -> TestStore {
        let path = folder.file(name)
        return try TestStore(path, StoreReplica.clone(at: path, from: store.replica.export()))
    }

    private func apply(_ store: TestStore) throws {
        let comparison = try #require(try store.replica.compareSchema())
        #expect(try StoreReplica.applySchema(comparison, at: store.path).isEmpty)
    }

    private static let table =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')"

    @Test("new tables, columns, indexes and views are shown, applied, and show what waited")
    func appliesTheSafePart() throws {
        let (a, b) = try pair(Self.table)
        try Store.alter(
            a.path,
            running: """
                ALTER TABLE t ADD COLUMN w TEXT DEFAULT 'none'; ALTER TABLE t ADD COLUMN n CHECK (n > 0);
                CREATE TABLE post(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id));
                CREATE INDEX pi ON post(t); CREATE VIEW v2 AS SELECT * FROM v1;
                CREATE VIEW v1 AS SELECT w FROM t JOIN post ON t = t.id; PRAGMA user_version = 3
                """)
        try a.run("UPDATE t SET w = 'W'; INSERT INTO post VALUES (7, 1)")
        try TestStore.sync(a, b)
        #expect(try b.replica.waiting.count == 2)
        let comparison = try #require(try b.replica.compareSchema())
        #expect(
            comparison.changes.map { "\($0.kind) \($0.name)" } == [
                "newTable post", "newColumn t.w", "newColumn t.n", "newIndex pi", "newView v1",
                "newView v2",
            ])
        #expect(comparison.differences.isEmpty && comparison.userVersion == 3)
        try apply(b)
        #expect(try b.replica.waiting.isEmpty)
        #expect(try b.dump() == a.dump())
        #expect(try b.rows("SELECT * FROM v2") == [["W"]])
        #expect(try b.rows("PRAGMA user_version") == [[3]])
        #expect(try b.replica.compareSchema()?.isEqual == true)
        // What was applied is recorded like any table, and is no change that travels back.
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
        try b.run("INSERT INTO post VALUES (8, 1); UPDATE t SET n = 5")
        try TestStore.sync(a, b)
        #expect(try b.dump() == a.dump())
    }

    @Test("a change of the schema alone is sent, once, and forwarded by a third replica")
    func statesChanges() throws {
        let (a, b) = try pair(Self.table)
        let c = try clone(b, "c.db")
        try a.run("CREATE VIEW only AS SELECT 1 AS x")
        #expect(try a.replica.batches(since: b.replica.vector).count == 1)
        try b.pull(from: a)
        try c.pull(from: b)
        #expect(try c.replica.compareSchema()?.changes.map(\.name) == ["only"])
        #expect(try a.replica.batches(since: b.replica.vector).isEmpty)
        try apply(c)
        try TestStore.sync(a, b, c)
        for store in [a, b, c] {
            #expect(try store.replica.vector == a.replica.vector)
            #expect(try store.replica.storeSchema() == a.replica.storeSchema())
        }
    }

    @Test("changes on both sides keep each other's objects")
    func mergesChanges() throws {
        let (a, b) = try pair(Self.table + "; CREATE VIEW old AS SELECT 1 AS x")
        try a.run("CREATE VIEW va AS SELECT 1 AS x; DROP VIEW old")
        try TestStore.sync(a, b)
        try b.run("CREATE VIEW vb AS SELECT 1 AS x; CREATE INDEX tv ON t(v)")
        try TestStore.sync(a, b)
        let names = try #require(try a.replica.storeSchema()).content.objects.map(\.name)
        #expect(Set(names) == ["t", "va", "vb", "tv"])
        #expect(try b.replica.compareSchema()?.onlyHere == ["view old"])
        let c = try clone(a, "c.db")
        #expect(try c.replica.compareSchema()?.isEqual == true)
    }

    @Test("what ALTER TABLE cannot bring about is named with the reason")
    func namesTheRest() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT); CREATE VIEW v AS SELECT a FROM t"
        )
        try Store.alter(
            a.path,
            running: """
                DROP VIEW v; ALTER TABLE t DROP COLUMN b;
                CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT REFERENCES t, UNIQUE (t), CHECK (id > 0));
                """)
        try a.run(
            """
            CREATE TABLE t2(id INTEGER PRIMARY KEY, a INTEGER NOT NULL DEFAULT 0, c TEXT UNIQUE);
            INSERT INTO t2(id) SELECT id FROM t; DROP TABLE t; ALTER TABLE t2 RENAME TO t;
            CREATE VIEW v AS SELECT id FROM t
            """)
        try TestStore.sync(a, b)
        let before = try FeatureCopyTests.statements(b)
        let comparison = try #require(try b.replica.compareSchema())
        #expect(comparison.changes.map(\.name) == ["n"])
        let reasons = comparison.differences.map { "\($0.name): \($0.reason)" }
        for word in [
            "t.a: the type", "t.a: the NOT NULL", "t.a: the default", "t.c: the column cannot",
            "v: the view",
        ] {
            #expect(reasons.contains { $0.hasPrefix(word) }, "\(word) in \(reasons)")
        }
        #expect(comparison.onlyHere == ["column t.b"])
        try apply(b)
        #expect(try FeatureCopyTests.statements(b).isSuperset(of: before))
        #expect(try b.rows("PRAGMA table_info(t)").count == 3)
    }

    @Test("a schema of a remote is applied only as far as it was reviewed")
    func appliesNothingHostile() throws {
        let (a, b) = try pair(Self.table)
        let batch = try BatchDecoder.decode(try #require(a.replica.export().first))
        let own = try #require(batch.schemas.first)
        let hostile = [
            SchemaObject(.view, name: "h1", sql: "CREATE VIEW h1 AS SELECT load_extension('x')"),
            SchemaObject(.table, name: "h2", sql: "ATTACH 'loot.db' AS h2"),
            SchemaObject(
                .table, name: "h3", sql: "CREATE TABLE h3(a); DROP TABLE t", isTracked: true),
            SchemaObject(
                .table, name: "t",
                sql:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, x DEFAULT (load_extension('x')))",
                isTracked: true),
        ]
        var record = own
        record.dot = Dot(ReplicaID.random(), 1)
        record.revision = own.revision + 1
        record.content.objects = hostile
        try b.replica.noteSchemas([record])
        let before = try FeatureCopyTests.statements(b)
        let comparison = try #require(try b.replica.compareSchema(consenting: true))
        #expect(comparison.changes.isEmpty)
        #expect(Set(comparison.refused.map(\.name)) == ["h1", "h2", "h3"])
        _ = try StoreReplica.applySchema(comparison, at: b.path)
        #expect(try FeatureCopyTests.statements(b) == before)
        // A revision that is far ahead would leave none for the next change.
        record.revision = SchemaRecord.revisionMax
        record.dot = Dot(ReplicaID.random(), 1)
        try b.replica.noteSchemas([record])
        #expect(try #require(try b.replica.storeSchema()).revision < 10)
    }
}

extension StoreReplica {
    /// Stores schemas as a merged batch does.
    fileprivate func noteSchemas(_ records: [SchemaRecord]) throws {
        try run("test") { session in
            try session.transact { try $0.storage.schemas.note(records, own: replicaID) }
        }
    }
}
