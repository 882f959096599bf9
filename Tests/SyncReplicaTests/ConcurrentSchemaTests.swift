import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Replicas that change the schema before they have each other's change.
@Suite("Schemas that change at the same time")
struct ConcurrentSchemaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let table =
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'x')"

    private func clone(_ store: TestStore, _ name: String) throws -> TestStore {
        let path = folder.file(name)
        return try TestStore(path, StoreReplica.clone(at: path, from: store.replica.export()))
    }

    /// A store with two more replicas, which all have merged the same.
    private func three() throws -> [TestStore] {
        let a = try TestStore(folder.file("a.db"), schema: Self.table)
        try a.replica.startSigning()
        let stores = [a, try clone(a, "c.db"), try clone(a, "e.db")]
        try TestStore.sync(stores[0], stores[1], stores[2])
        return stores
    }

    private func apply(_ store: TestStore) throws {
        let comparison = try #require(try store.replica.compareSchema())
        #expect(try StoreReplica.applySchema(comparison, at: store.path).isEmpty)
    }

    /// Tables with their columns, and indexes.
    private func shape(_ store: TestStore) throws -> Set<String> {
        Set(
            try store.rows(
                """
                SELECT type || ' ' || name || coalesce('(' || (SELECT group_concat(name)
                  FROM (SELECT name FROM pragma_table_info(m.name) ORDER BY name)) || ')', '')
                FROM sqlite_schema AS m WHERE name NOT LIKE 'syncd%' AND name NOT LIKE 'sqlite%'
                """
            ).compactMap { row in
                if case .text(let text) = row[0] { text } else { nil }
            })
    }

    /// What two replicas change at the same time, and what all have then.
    struct Pair: Sendable, CustomTestStringConvertible {
        let name: String
        let first: String
        let second: String
        let shape: Set<String>
        var rows: [String: [String]] = [:]
        var testDescription: String { name }
    }

    private static let more =
        "CREATE TABLE more(id INTEGER PRIMARY KEY, v); INSERT INTO more VALUES (1, 'm')"
    private static let column = "ALTER TABLE item ADD COLUMN qty INT; UPDATE item SET qty = 5"

    static let pairs = [
        Pair(
            name: "a table and a table", first: more,
            second: "CREATE TABLE other(id INTEGER PRIMARY KEY, v); "
                + "INSERT INTO other VALUES (1, 'o')",
            shape: ["table item(id,name)", "table more(id,v)", "table other(id,v)"],
            rows: ["SELECT v FROM more": ["m"], "SELECT v FROM other": ["o"]]),
        Pair(
            name: "a column and a view", first: column, second: "CREATE VIEW pw AS SELECT 1 AS x",
            shape: ["table item(id,name,qty)", "view pw(x)"],
            rows: ["SELECT CAST(qty AS TEXT) FROM item": ["5"]]),
        Pair(
            name: "a column and an index", first: column,
            second: "CREATE INDEX ix ON item(name)",
            shape: ["table item(id,name,qty)", "index ix"],
            rows: ["SELECT CAST(qty AS TEXT) FROM item": ["5"]]),
        Pair(
            name: "a rename with a table, and another table",
            first: "ALTER TABLE item RENAME TO things; " + more,
            second: "CREATE TABLE other(id INTEGER PRIMARY KEY, v)",
            shape: ["table things(id,name)", "table more(id,v)", "table other(id,v)"],
            rows: ["SELECT v FROM more": ["m"], "SELECT name FROM things": ["x"]]),
        Pair(
            name: "a renamed column and a table",
            first: "ALTER TABLE item RENAME COLUMN name TO title", second: more,
            shape: ["table item(id,title)", "table more(id,v)"],
            rows: ["SELECT v FROM more": ["m"], "SELECT title FROM item": ["x"]]),
        Pair(
            name: "a column and a column of one table", first: column,
            second: "ALTER TABLE item ADD COLUMN note TEXT DEFAULT 'n'",
            shape: ["table item(id,name,note,qty)"],
            rows: ["SELECT CAST(qty AS TEXT) || note FROM item": ["5n"]]),
        Pair(
            name: "a renamed table, and what names it",
            first: "ALTER TABLE item RENAME TO things",
            second: """
                CREATE TABLE other(id INTEGER PRIMARY KEY, v REFERENCES item(id));
                INSERT INTO other VALUES (1, 1); CREATE INDEX ix ON item(name);
                CREATE VIEW pw AS SELECT item.name AS x FROM item
                """,
            shape: ["table things(id,name)", "table other(id,v)", "index ix", "view pw(x)"],
            rows: [
                "SELECT name FROM other JOIN things ON things.id = v": ["x"],
                "SELECT \"table\" FROM pragma_foreign_key_list('other')": ["things"],
            ]),
        Pair(
            name: "a renamed key, and what names it",
            first: "ALTER TABLE item RENAME COLUMN name TO title; "
                + "ALTER TABLE item RENAME COLUMN id TO number",
            second: "CREATE TABLE other(id INTEGER PRIMARY KEY, v REFERENCES item(id)); "
                + "CREATE INDEX ix ON item(name)",
            shape: ["table item(number,title)", "table other(id,v)", "index ix"],
            rows: ["SELECT \"to\" FROM pragma_foreign_key_list('other')": ["number"]]),
    ]

    @Test(
        "each keeps what it changed, and all have both, no matter who was first",
        arguments: pairs, [[0, 2, 1], [1, 2, 0]])
    func keepsBoth(_ pair: Pair, order: [Int]) throws {
        let stores = try three()
        let isSwapped = order[0] == 1
        for (store, sql) in [(stores[0], pair.first), (stores[1], pair.second)]
            .sorted(by: { first, _ in (first.0.path == stores[0].path) != isSwapped })
        {
            try store.run(sql)
            // A new replica tracks no table by itself.
            let tables = ["more", "other"].filter { sql.contains("TABLE \($0)(") }
            if !tables.isEmpty { try Store.track(store.path, entities: .only(tables)) }
            _ = try store.replica.vector
            usleep(3000)  // the second change has a later time, in milliseconds
        }
        // Through the third one, and then each with each.
        for from in order {
            for to in order where from != to { try stores[to].pull(from: stores[from]) }
        }
        try TestStore.sync(stores[0], stores[1], stores[2])
        let vectors = try stores.map { try $0.replica.vector }
        try TestStore.sync(stores[0], stores[1], stores[2])
        #expect(try stores.map { try $0.replica.vector } == vectors, "statements go on")
        let hashes = Set(try stores.map { try $0.replica.storeSchema()?.content.hash })
        #expect(hashes.count == 1)
        for store in stores { try apply(store) }
        try TestStore.sync(stores[0], stores[1], stores[2])
        #expect(try stores.map { try $0.replica.vector } == vectors)
        let new = try clone(stores[2], "g.db")
        if try !shape(new).isSuperset(of: pair.shape) { try apply(new) }
        for store in stores + [new] {
            #expect(try shape(store) == pair.shape, "\(store.path)")
            #expect(try store.replica.waiting.isEmpty)
            #expect(try store.replica.compareSchema()?.isEqual == true)
            for (sql, values) in pair.rows {
                #expect(try store.rows(sql) == values.map { [.text($0)] }, "\(sql)")
            }
        }
    }

    @Test("three at the same time; of one object that two changed the later text holds")
    func keepsThree() throws {
        let stores = try three()
        for (store, name) in zip(stores, ["va", "vc", "ve"]) {
            try store.run(
                "CREATE VIEW \(name) AS SELECT 1 AS x; CREATE VIEW one AS SELECT '\(name)' AS x")
            _ = try store.replica.vector
            usleep(3000)
        }
        try TestStore.sync(stores[0], stores[1], stores[2])
        try TestStore.sync(stores[2], stores[1], stores[0])
        let vectors = try stores.map { try $0.replica.vector }
        try TestStore.sync(stores[0], stores[1], stores[2])
        #expect(try stores.map { try $0.replica.vector } == vectors)
        for store in stores {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(Set(content.objects.map(\.name)) == ["item", "va", "vc", "ve", "one"])
            #expect(content.objects.first { $0.name == "one" }?.sql.contains("'ve'") == true)
        }
    }

    @Test("what one of two dropped stays dropped")
    func keepsDrops() throws {
        let stores = try three()
        try stores[0].run("CREATE VIEW old AS SELECT 1 AS x; \(Self.more)")
        try TestStore.sync(stores[0], stores[1], stores[2])
        for store in stores[1...] { try apply(store) }
        try Store.alter(stores[0].path, running: "DROP VIEW old; DROP TABLE more")
        _ = try stores[0].replica.vector
        usleep(3000)
        try stores[1].run("CREATE INDEX ix ON item(name)")
        try TestStore.sync(stores[0], stores[1], stores[2])
        for store in stores {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(Set(content.objects.map(\.name)) == ["item", "ix"])
        }
    }

    @Test(
        "a column that one dropped stays dropped when another one adds a column to its table",
        arguments: [false, true])
    func keepsDroppedColumns(isDroppedLast: Bool) throws {
        let stores = try three()
        try stores[0].run("ALTER TABLE item ADD COLUMN old TEXT")
        try TestStore.sync(stores[0], stores[1], stores[2])
        for store in stores[1...] { try apply(store) }
        for isDrop in isDroppedLast ? [false, true] : [true, false] {
            if isDrop {
                try Store.alter(stores[0].path, running: "ALTER TABLE item DROP COLUMN old")
                _ = try stores[0].replica.vector
            } else {
                try stores[1].run("ALTER TABLE item ADD COLUMN qty INT")
                _ = try stores[1].replica.vector
            }
            usleep(3000)
        }
        try TestStore.sync(stores[0], stores[1], stores[2])
        try TestStore.sync(stores[2], stores[1], stores[0])
        for store in stores {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(content.objects.map(\.sql).allSatisfy { !$0.contains("old") })
            #expect(content.hasDropped("old", of: "item"))
            try apply(store)
            #expect(try shape(store).contains { $0.contains("qty") })
        }
    }

    @Test("a column that is added to a text that is not applied yet does not take it back")
    func keepsColumnsThatAreNotApplied() throws {
        let stores = try three()
        try stores[0].run(Self.column)
        try TestStore.sync(stores[0], stores[1], stores[2])
        try stores[1].run("ALTER TABLE item ADD COLUMN note TEXT")
        try TestStore.sync(stores[0], stores[1], stores[2])
        for store in stores {
            try apply(store)
            #expect(try shape(store) == ["table item(id,name,note,qty)"])
            #expect(try store.rows("SELECT qty FROM item") == [[.integer(5)]])
            #expect(try store.replica.compareSchema()?.isEqual == true)
        }
    }

    @Test("a new replica that has both before they are merged is offered both, and keeps both")
    func offersBothToAClone() throws {
        let stores = try three()
        try stores[0].run(Self.more)
        _ = try stores[0].replica.vector
        usleep(3000)
        try stores[1].run("CREATE VIEW v AS SELECT 1 AS x")
        // The third one only carries them.
        for from in stores[..<2] { try stores[2].pull(from: from) }
        let new = try clone(stores[2], "g.db")
        if try !shape(new).contains("table more(id,v)") { try apply(new) }
        for store in [stores[2], new] {
            let content = try #require(try store.replica.storeSchema()).content
            #expect(Set(content.objects.map(\.name)) == ["item", "more", "v"])
        }
        #expect(try new.rows("SELECT v FROM more") == [[.text("m")]])
        try new.run("CREATE VIEW w AS SELECT 2 AS x")
        try TestStore.sync(stores[0], stores[1], stores[2])
        try stores[0].pull(from: new)
        let content = try #require(try stores[0].replica.storeSchema()).content
        #expect(Set(content.objects.map(\.name)) == ["item", "more", "v", "w"])
    }

    @Test("a NOT NULL column that all replicas dropped is not in a clone, nor in a clone of it")
    func leavesOutWhatAllDropped() throws {
        let a = try TestStore(
            folder.file("a.db"),
            schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT NOT NULL); "
                + "INSERT INTO t VALUES (1, 'a1', 'b1')")
        try a.replica.startSigning()
        let snapshot = try a.replica.export()
        let b = try clone(a, "b.db")
        for (store, row) in [(a, "a"), (b, "b")] {
            try store.run(
                """
                PRAGMA foreign_keys = OFF; BEGIN;
                CREATE TABLE new__t(id INTEGER PRIMARY KEY, a TEXT);
                INSERT INTO new__t SELECT id, a FROM t; DROP TABLE t;
                ALTER TABLE new__t RENAME TO t; COMMIT; INSERT INTO t(a) VALUES ('new at \(row)')
                """)
        }
        try TestStore.sync(a, b)
        func copy(_ name: String) throws -> TestStore {
            let base = try BatchDecoder.decode(snapshot[0]).upTo
            let path = folder.file(name)
            return try TestStore(
                path, StoreReplica.clone(at: path, from: snapshot + a.replica.batches(since: base)))
        }
        func check(_ store: TestStore) throws {
            #expect(try shape(store) == ["table t(a,id)"])
            #expect(try store.dump() == a.dump())
            #expect(try store.replica.waiting.isEmpty)
            #expect(try store.replica.compareSchema()?.isEqual == true)
        }
        let z = try copy("z.db")
        try check(z)
        try z.run("INSERT INTO t(a) VALUES ('at z'); ALTER TABLE t ADD COLUMN c TEXT")
        try TestStore.sync(a, z)
        try apply(a)
        let y = try copy("y.db")
        #expect(try shape(y) == ["table t(a,c,id)"])
        #expect(try y.rows("SELECT count(*) FROM t") == [[.integer(4)]])
    }
}
