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

    @Test("renames are renames: exchanged names, new columns of old names, views and indexes")
    func appliesRenames() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE m(k TEXT PRIMARY KEY, v TEXT, w TEXT);
            CREATE TABLE n(k TEXT PRIMARY KEY, v TEXT, w TEXT);
            CREATE TABLE q(id INTEGER PRIMARY KEY, m TEXT REFERENCES m(k));
            CREATE VIEW vm AS SELECT v FROM m; CREATE INDEX mi ON m(v);
            INSERT INTO m VALUES ('m', 'v', 'w'); INSERT INTO n VALUES ('n', 'v', 'w');
            INSERT INTO q VALUES (1, 'm')
            """)
        try Store.alter(
            a.path,
            running: """
                ALTER TABLE m RENAME TO t; ALTER TABLE n RENAME TO m; ALTER TABLE t RENAME TO n;
                ALTER TABLE n RENAME COLUMN v TO x; ALTER TABLE n RENAME COLUMN w TO y;
                ALTER TABLE n ADD COLUMN v TEXT DEFAULT 'new';
                CREATE TABLE fresh(id INTEGER PRIMARY KEY, u TEXT UNIQUE); CREATE INDEX fi ON fresh(u)
                """)
        try a.run("UPDATE n SET v = 'nv'; INSERT INTO fresh VALUES (1, 'f')")
        try TestStore.sync(a, b)
        let comparison = try #require(try b.replica.compareSchema())
        #expect(comparison.differences.isEmpty, "\(comparison.differences)")
        #expect(comparison.onlyHere.isEmpty && comparison.refused.isEmpty)
        let kinds = comparison.changes.map(\.kind)
        #expect(kinds.filter { $0 == .renameTable }.count == 3)
        #expect(kinds.filter { $0 == .renameColumn }.count == 2)
        #expect(
            comparison.changes.suffix(3).map { "\($0.kind) \($0.name)" } == [
                "newTable fresh", "newColumn n.v", "newIndex fi",
            ])
        try apply(b)
        #expect(try b.replica.waiting.isEmpty)
        #expect(try b.replica.compareSchema()?.isEqual == true)
        #expect(try b.rows("SELECT k, x, y, v FROM n") == [["m", "v", "w", "nv"]])
        #expect(try b.dump() == a.dump())
        // Neither states it again, and both write the same facts.
        #expect(try b.replica.batches(since: a.replica.vector).isEmpty)
        try b.run("UPDATE n SET x = 'edited', v = 'too'")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT x, v FROM n") == [["edited", "too"]])
        // A new replica begins with the names and identities of now.
        let c = try clone(b, "c.db")
        #expect(try c.replica.compareSchema()?.isEqual == true)
        try c.run("UPDATE n SET v = 'c', y = 'cy'; UPDATE m SET v = 'cm'")
        try TestStore.sync(a, b, c)
        for store in [b, c] { #expect(try store.dump() == a.dump()) }
        #expect(try a.rows("SELECT v, y FROM n") == [["c", "cy"]])
    }

    @Test("a table that two replicas renamed at the same time is named, and keeps its name")
    func namesConcurrentRenames() throws {
        let (a, b) = try pair(Self.table)
        try Store.alter(a.path, running: "ALTER TABLE t RENAME TO ta")
        try Store.alter(b.path, running: "ALTER TABLE t RENAME COLUMN v TO vb")
        _ = try a.replica.vector
        usleep(3000)  // the second change has a later time, in milliseconds
        _ = try b.replica.vector
        try TestStore.sync(a, b)
        let comparison = try #require(try a.replica.compareSchema())
        #expect(comparison.changes.isEmpty, "\(comparison.changes)")
        #expect(comparison.differences.map(\.name).contains("ta"))
        #expect(comparison.differences.contains { $0.remedy?.contains("RENAME TO \"t\"") ?? false })
    }

    @Test("a name that something else has here is named; the rest is applied")
    func namesWhatIsTaken() throws {
        let (a, b) = try pair(Self.table + "; CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT)")
        try b.run("CREATE VIEW taken AS SELECT 1 AS x")
        try TestStore.sync(a, b)
        try Store.alter(
            a.path, running: "ALTER TABLE t RENAME TO taken; ALTER TABLE u RENAME TO free")
        try TestStore.sync(a, b)
        let comparison = try #require(try b.replica.compareSchema())
        #expect(comparison.changes.map(\.name).contains("u"))
        #expect(!comparison.changes.map(\.name).contains("t"))
        #expect(comparison.differences.contains { $0.name == "t" && $0.reason.contains("taken") })
        try apply(b)
        #expect(try b.rows("SELECT count(*) FROM free") == [[0]])
    }

    @Test("a schema without identities names what may be renamed, and makes none of it")
    func namesWithoutIdentities() throws {
        let (a, b) = try pair(Self.table)
        try Store.alter(
            a.path, running: "ALTER TABLE t RENAME TO s; ALTER TABLE s ADD COLUMN w TEXT")
        try TestStore.sync(a, b)
        var record = try #require(try b.replica.storeSchema())
        record.content.names = nil
        record.revision += 1
        try b.replica.noteSchemas([record])
        let comparison = try #require(try b.replica.compareSchema())
        #expect(comparison.changes.isEmpty, "\(comparison.changes)")
        #expect(comparison.differences.map(\.name) == ["s"])
    }

    @Test("a drop travels, and what waited for the dropped column is settled")
    func statesDrops() throws {
        let (a, b) = try pair(Self.table)
        try Store.alter(b.path, running: "ALTER TABLE t ADD COLUMN gone TEXT")
        try b.run("UPDATE t SET gone = 'g'; CREATE TABLE lost(id INTEGER PRIMARY KEY)")
        try Store.track(b.path, entities: .only(["lost"]))
        try b.run("INSERT INTO lost VALUES (1)")
        try TestStore.sync(a, b)
        #expect(try a.replica.waiting.map(\.reason) == [.noTable, .noColumns(["gone"])])
        try Store.alter(b.path, running: "ALTER TABLE t DROP COLUMN gone; DROP TABLE lost")
        try TestStore.sync(a, b)
        #expect(try a.replica.compareSchema()?.isEqual == true)
        #expect(try a.replica.waiting.map(\.reason) == [.dropped([]), .dropped(["gone"])])
    }

    @Test("what needs a table that is left out is named with the reason")
    func leavesOutWhatDepends() throws {
        let (a, b) = try pair(Self.table)
        try b.run(
            """
            CREATE TABLE own(id INTEGER PRIMARY KEY, v TEXT); CREATE INDEX oi ON own(v);
            CREATE VIEW ov AS SELECT v FROM own; CREATE VIEW tv AS SELECT v FROM t
            """)
        try TestStore.sync(a, b)
        let comparison = try #require(try a.replica.compareSchema())
        #expect(comparison.changes.map(\.name) == ["tv"], "\(comparison.changes)")
        let named = Dictionary(
            uniqueKeysWithValues: comparison.differences.map { ($0.name, $0.reason) })
        #expect(named["own"] != nil)
        #expect(named["oi"]?.contains("no such table") == true, "\(named)")
        #expect(named["ov"]?.contains("no such table") == true, "\(named)")
    }

    @Test("a UNIQUE column is named with the table's definition, not with what SQLite does inside")
    func namesUniqueColumns() throws {
        let (a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
        try a.run(
            "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, code TEXT UNIQUE)")
        try TestStore.sync(a, b)
        let found = try #require(
            try b.replica.compareSchema()?.differences.first { $0.name == "t.code" })
        #expect(found.reason.contains("UNIQUE") && !found.reason.contains("sqlite_"), "\(found)")
        #expect(found.remedy?.contains("code TEXT UNIQUE") == true, "\(found)")
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
