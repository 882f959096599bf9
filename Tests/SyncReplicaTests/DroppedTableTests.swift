import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

/// A replica that has dropped a table that others have, or that other tables refer to.
@Suite("Tables that one replica drops", .timeLimit(.minutes(5)))
struct DroppedTableTests {
    private static let schema = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE o(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id), x TEXT);
        CREATE TABLE c(t INTEGER NOT NULL REFERENCES t(id) ON DELETE CASCADE, k TEXT NOT NULL,
          PRIMARY KEY(t, k));
        INSERT INTO t VALUES (1, 'one'), (2, 'two');
        INSERT INTO c VALUES (1, 'a'), (2, 'a');
        """

    private static let create = """
        CREATE TABLE c(t INTEGER NOT NULL REFERENCES t(id) ON DELETE CASCADE, k TEXT NOT NULL,
          PRIMARY KEY(t, k))
        """

    private let folder: TemporaryFolder
    private let a: TestStore
    private let b: TestStore

    init() throws {
        folder = try TemporaryFolder()
        (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
    }

    /// The two have another row of number 3: what stays a reference leads to the right one.
    @Test func aReferenceToItsRowsStaysOne() throws {
        try a.run("INSERT INTO t VALUES (3, 'of a')")
        try b.run("INSERT INTO t VALUES (3, 'of b'); INSERT INTO o VALUES (3, 3, 'refers')")
        _ = try b.replica.vector
        try Store.alter(b.path, running: "DROP TABLE t")
        try TestStore.sync(b, a)
        #expect(try a.rows("SELECT v FROM o JOIN t ON t.id = o.t") == [["of b"]])
        try b.run("UPDATE o SET x = 'edited'")
        try TestStore.sync(b, a)
        #expect(try a.rows("SELECT v, x FROM o JOIN t ON t.id = o.t") == [["of b", "edited"]])
    }

    /// Without the parent two of its rows would have one key.
    @Test func aChildThatIsMadeAgainBeforeItsParentWaits() throws {
        try Store.alter(b.path, running: "DROP TABLE c; DROP TABLE t")
        try TestStore.sync(b, a)
        try b.run(Self.create)
        try Store.track(b.path)
        try TestStore.sync(b, a)
        #expect(try b.rows("SELECT count(*) FROM c") == [[0]])
        #expect(try !b.replica.conflicts().isEmpty, "they are hidden, and that is told")
        try b.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
        try Store.track(b.path)
        try TestStore.sync(b, a)
        for store in [a, b] {
            let rows = try store.rows("SELECT v, k FROM c JOIN t ON t.id = c.t ORDER BY v")
            #expect(rows == [["one", "a"], ["two", "a"]])
            #expect(try store.replica.conflicts().isEmpty)
        }
    }

    @Test func itsConflictsSayThatItIsNotHere() throws {
        try a.run("UPDATE t SET v = 'of a' WHERE id = 1")
        try b.run("UPDATE t SET v = 'of b' WHERE id = 1")
        try TestStore.sync(a, b)
        let known = try #require(try b.replica.conflicts().first)
        #expect(known.presence == .shown)
        try Store.alter(b.path, running: "PRAGMA foreign_keys = OFF; DROP TABLE t")
        let conflict = try #require(try b.replica.conflicts().first)
        #expect(conflict.presence == .noTable && conflict.id == known.id)
        do {
            try b.replica.resolve(conflict.id, keeping: .losing)
            Issue.record("it was resolved without its table")
        } catch let error as SyncError {
            #expect(error.reason.contains("the table t, which is not here"), "\(error)")
        }
        try b.replica.closeConflicts()
        #expect(try b.replica.conflicts().map(\.id) == [known.id])
        try b.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
        try Store.track(b.path)
        try b.replica.resolve(known.id, keeping: .losing)
        try TestStore.sync(a, b)
        let rows = try a.rows("SELECT v FROM t WHERE id = 1")
        #expect(try b.rows("SELECT v FROM t WHERE id = 1") == rows)
        #expect(try a.replica.conflicts().isEmpty && b.replica.conflicts().isEmpty)
    }
}
