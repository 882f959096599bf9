import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Open conflicts of a table whose columns change: each is about the column that it was about.
@Suite("Conflicts beside a change of the columns")
struct ConflictCellsTests {
    private static func rebuild(_ columns: String, from former: String) -> String {
        """
        BEGIN; CREATE TABLE new(\(columns)); INSERT INTO new SELECT \(former) FROM t;
        DROP TABLE t; ALTER TABLE new RENAME TO t; COMMIT
        """
    }

    @Test(
        arguments: [
            ("ALTER TABLE t RENAME TO u", ["a", "b", "c"]),
            ("ALTER TABLE t RENAME COLUMN b TO a2", ["a", "a2", "c"]),
            (rebuild("id INTEGER PRIMARY KEY, b, c", from: "id, b, c"), ["b", "c"]),
            (rebuild("id INTEGER PRIMARY KEY, a, b", from: "id, a, b"), ["a", "b"]),
            (rebuild("id INTEGER PRIMARY KEY, c, a", from: "id, c, a"), ["a", "c"]),
            (
                rebuild("new, id INTEGER PRIMARY KEY, a, b, c", from: "NULL, id, a, b, c"),
                ["a", "b", "c"]
            ),
            (rebuild("id INTEGER PRIMARY KEY", from: "id"), []),
        ])
    func eachStaysWithItsColumn(_ migration: String, columns: [String]) throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c); INSERT INTO t VALUES (1, 0, 0, 0)
                """)
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE t SET a = 'a here', b = 'b here', c = 'c here'")
        _ = try a.replica.vector
        try b.run("UPDATE t SET a = 'a there', b = 'b there', c = 'c there'")
        try TestStore.sync(a, b)
        let before = try a.replica.conflicts()
        #expect(before.count == 3)

        try a.run(migration)
        let open = try a.replica.conflicts()
        #expect(open.map { $0.properties.joined() }.sorted() == columns.sorted())
        for conflict in open {
            let known = try #require(before.first { $0.id == conflict.id })
            #expect(Self.values(known) == Self.values(conflict))
            try a.replica.resolve(conflict.id, keeping: .losing)
        }
        #expect(try a.replica.conflicts().isEmpty)
        #expect(try a.replica.conflicts(open: nil).count == 3)
        try TestStore.sync(a, b)
        #expect(try a.replica.conflicts().isEmpty)
    }

    private static func values(_ conflict: ConflictRecord) -> [Value] {
        (conflict.losing.values.pairs + conflict.shown.values.pairs).map(\.value)
    }

    @Test(arguments: ["CREATE UNIQUE INDEX u ON t(a, b)", "CREATE INDEX u ON t(a, b)"])
    func whatIsNoCellAnyMore(_ migration: String) throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(
            folder.file("a.db"),
            schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES (1, 0, 0)")
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE t SET a = 'a here', b = 'b here'")
        _ = try a.replica.vector
        try b.run("UPDATE t SET a = 'a there', b = 'b there'")
        try TestStore.sync(a, b)
        try a.run(migration)
        try TestStore.sync(a, b)
        for conflict in try a.replica.conflicts() {
            try a.replica.resolve(conflict.id, keeping: .losing)
        }
        try TestStore.sync(a, b)
        #expect(try a.replica.conflicts().isEmpty)
    }
}
