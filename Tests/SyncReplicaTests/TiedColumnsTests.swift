import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

/// Columns that are one cell where a UNIQUE or a CHECK is over both, and two elsewhere: what is
/// merged and shown is the same.
@Suite("Merging: constraints that tie columns on one replica alone")
struct TiedColumnsTests {
    private let folder: TemporaryFolder
    private static let schema = """
        CREATE TABLE u(id INTEGER PRIMARY KEY, code TEXT, x TEXT, y TEXT);
        INSERT INTO u VALUES (1, 'c1', 'x1', 'y1'), (2, 'c2', 'x2', 'y2')
        """
    private static let index = "CREATE UNIQUE INDEX ux ON u(code, x)"
    private static let rows = "SELECT code, x, y FROM u ORDER BY y"

    init() throws { folder = try TemporaryFolder() }

    private func expectEqual(
        _ stores: TestStore..., rows: [[Value]], _ location: SourceLocation = #_sourceLocation
    ) throws {
        for store in stores {
            #expect(
                try store.rows(Self.rows) == rows, "\(store.path)", sourceLocation: location)
            #expect(try store.rows("SELECT * FROM syncd_unknown").isEmpty, sourceLocation: location)
            // Each merge loads the others.
            let states = try store.rows("SELECT DISTINCT state FROM syncd_object")
            #expect(states == [[0]], sourceLocation: location)
        }
        let first = stores[0].replica
        for store in stores.dropFirst() {
            let sums = try #require(try store.replica.sums, sourceLocation: location)
            let own = try #require(try first.sums, sourceLocation: location)
            let name = first.storeID
            let comparison = try StateSums(own, store: name).compared(
                with: StateSums(sums, store: name))
            #expect(
                comparison?.compared.count == 2, "the table and the aliases",
                sourceLocation: location)
            #expect(
                try first.compare([store.replica.replicaID: sums]).isEmpty,
                sourceLocation: location)
        }
    }

    @Test("a row that another replica inserts is whole on both, before and after it has the index")
    func insert() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(Self.index)
        try b.run("INSERT INTO u VALUES (3, 'c3', 'x3', 'y3')")
        try a.run("INSERT INTO u VALUES (4, 'c4', 'x4', 'y4')")
        try TestStore.sync(a, b)
        let rows: [[Value]] = [
            ["c1", "x1", "y1"], ["c2", "x2", "y2"], ["c3", "x3", "y3"], ["c4", "x4", "y4"],
        ]
        try expectEqual(a, b, rows: rows)
        try b.run(Self.index)
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: rows)
    }

    @Test("edits of single columns are shown by both, whoever has the index, and after it is gone")
    func updates() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(Self.index)
        try b.run("UPDATE u SET x = 'X1' WHERE id = 1")
        try a.run("UPDATE u SET code = 'C2' WHERE id = 2")
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["c1", "X1", "y1"], ["C2", "x2", "y2"]])
        try b.run("UPDATE u SET x = 'X2' WHERE id = 2; UPDATE u SET code = 'C1' WHERE id = 1")
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["C1", "X1", "y1"], ["C2", "X2", "y2"]])
        try a.run("DROP INDEX ux")
        try b.run(Self.index)
        try a.run("UPDATE u SET x = 'X3' WHERE id = 1")
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["C1", "X3", "y1"], ["C2", "X2", "y2"]])
    }

    @Test("of concurrent edits of two columns both are shown; of one the later one")
    func concurrentEdits() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        let c = try b.copy(at: folder.file("c.db"))
        try a.run(Self.index)
        try TestStore.sync(a, b, c)
        try b.run("UPDATE u SET x = 'of b' WHERE id = 1")
        try c.run("UPDATE u SET code = 'of c', x = 'late' WHERE id = 2")
        try c.run("UPDATE u SET code = 'of c' WHERE id = 1")
        try b.run("UPDATE u SET x = 'later' WHERE id = 2")
        // Through the one with the index.
        try a.pull(from: b)
        try a.pull(from: c)
        try c.pull(from: a)
        try b.pull(from: a)
        let rows: [[Value]] = [["of c", "of b", "y1"], ["of c", "later", "y2"]]
        try expectEqual(a, b, c, rows: rows)
        for store in [a, b, c] {
            let conflicts = try store.replica.conflicts()
            #expect(
                conflicts.map(\.losing.values) == [NamedValues([.init(name: "x", value: "late")])])
        }
        try c.run(Self.index)
        try b.run(Self.index)
        try TestStore.sync(a, b, c)
        try expectEqual(a, b, c, rows: rows)
    }

    @Test("what was stated before the index came is sent after it")
    func statedBefore() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run("UPDATE u SET x = 'X1' WHERE id = 1")
        _ = try a.replica.batches(since: VersionVector())
        try a.run(Self.index)
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["c1", "X1", "y1"], ["c2", "x2", "y2"]])
        try b.run(Self.index)
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["c1", "X1", "y1"], ["c2", "x2", "y2"]])
    }

    @Test("a replica with the index forwards rows whole to one without it")
    func forwarded() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        let c = try b.copy(at: folder.file("c.db"))
        try a.run(Self.index)
        try b.run("INSERT INTO u VALUES (3, 'c3', 'x3', 'y3')")
        try b.run("UPDATE u SET x = 'X3' WHERE id = 3; UPDATE u SET x = 'X1' WHERE id = 1")
        try a.pull(from: b)
        try c.pull(from: a)
        try b.pull(from: a)
        let rows: [[Value]] = [["c1", "X1", "y1"], ["c2", "x2", "y2"], ["c3", "X3", "y3"]]
        try expectEqual(a, b, c, rows: rows)
        try expectEqual(try a.copy(at: folder.file("d.db")), a, rows: rows)
    }

    @Test("a new column under the index has its default in rows of replicas without it")
    func newColumn() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        let growth = """
            ALTER TABLE u ADD COLUMN z TEXT DEFAULT 'd'; CREATE UNIQUE INDEX uz ON u(code, z)
            """
        try a.run(growth)
        try TestStore.sync(a, b)
        try a.run("UPDATE u SET z = 'Z2' WHERE id = 2")
        try b.run("INSERT INTO u VALUES (3, 'c3', 'x3', 'y3')")
        try b.run("UPDATE u SET code = 'C2' WHERE id = 2")
        try TestStore.sync(a, b)
        let rows: [[Value]] = [
            ["c1", "x1", "y1"], ["C2", "x2", "y2"], ["c3", "x3", "y3"],
        ]
        #expect(try a.rows(Self.rows) == rows && b.rows(Self.rows) == rows)
        #expect(try a.rows("SELECT z FROM u ORDER BY y") == [["d"], ["Z2"], ["d"]])
        try b.run(growth)
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: rows)
        #expect(try b.rows("SELECT z FROM u ORDER BY y") == [["d"], ["Z2"], ["d"]])
    }

    @Test("a lost edit of one column is a conflict about it, and a decision leaves the other one")
    func decision() throws {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run(Self.index)
        try b.run("UPDATE u SET x = 'of b' WHERE id = 1")
        try a.run("UPDATE u SET x = 'of a', code = 'C1' WHERE id = 1")
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["C1", "of a", "y1"], ["c2", "x2", "y2"]])
        let open = try a.replica.conflicts()
        let conflict = try #require(open.first)
        #expect(open.count == 1 && conflict.losing.values["x"] == "of b")
        #expect(conflict.properties == ["x"] && conflict.losing.values["code"] == nil)
        #expect(conflict.shown.values.pairs == [.init(name: "x", value: "of a")])
        _ = try a.replica.resolve(conflict.id, keeping: .losing, author: "judge")
        try TestStore.sync(a, b)
        try expectEqual(a, b, rows: [["C1", "of b", "y1"], ["c2", "x2", "y2"]])
        #expect(try a.replica.conflicts().isEmpty && b.replica.conflicts().isEmpty)
    }
}
