import SyncMerge
import SyncStorage
import SyncTesting
import Testing

@testable import SyncReplica
@testable import SyncValues

/// After which changes of the schema all rows are shown again, in memory.
@Suite("Merging: which schema changes show the rows again")
struct ShownStructureTests {
    private let folder: TemporaryFolder
    private static let schema = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, n TEXT DEFAULT 'x'); CREATE TABLE q(id INTEGER PRIMARY KEY);
        CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), a TEXT, b TEXT);
        INSERT INTO p(id) VALUES (1); INSERT INTO q VALUES (1); INSERT INTO c VALUES (1, 1, 'a', 'b');
        """

    init() throws { folder = try TemporaryFolder() }

    /// - Parameter isEarlier: whether a version before this one has stored by what rows are shown.
    private func isShownAgain(
        _ store: TestStore, after change: String, isEarlier: Bool = false
    ) throws -> Bool {
        _ = try store.replica.vector
        let shown = isEarlier ? "substr(value, 1, instr(value, ' ') - 1)" : "value"
        let former = try store.rows("SELECT \(shown) FROM syncd_meta WHERE key = 'shown'")[0][0]
        if change.hasPrefix("alter: ") {
            _ = try Store.alter(store.path, running: String(change.dropFirst(7)))
        } else {
            try store.run(change)
        }
        return try store.replica.run("test") { session in
            try session.transact { transaction in
                try transaction.settings.set(.shown, to: former)
                defer { try? ShownStructure(transaction.storage).store() }
                return try ShownStructure(transaction.storage).isNew()
            }
        }
    }

    @Test(
        "not after one that no row can be shown otherwise by",
        arguments: [
            "ALTER TABLE c ADD COLUMN d", "ALTER TABLE c ADD COLUMN d INTEGER NOT NULL DEFAULT 3",
            "CREATE INDEX i ON c(a, b)", "CREATE UNIQUE INDEX i ON c(a)",
            "CREATE TABLE d(id INTEGER PRIMARY KEY, c REFERENCES c(id))",
            "ALTER TABLE c RENAME COLUMN a TO d", "alter: ALTER TABLE c DROP COLUMN b",
            "UPDATE c SET a = 'new'",
        ])
    func harmless(change: String) throws {
        let store = try TestStore(folder.file("a.db"), schema: Self.schema)
        #expect(try !isShownAgain(store, after: change))
    }

    @Test(
        "after one that changes what rows refer to, what is one cell, or a default",
        arguments: [
            "CREATE UNIQUE INDEX i ON c(a, b)", "ALTER TABLE c ADD COLUMN q REFERENCES q(id)",
            "alter: ALTER TABLE p DROP COLUMN n", "alter: DROP TABLE q",
            """
            alter: CREATE TABLE n(id INTEGER PRIMARY KEY, p INTEGER REFERENCES q(id), a TEXT, b TEXT);
            INSERT INTO n SELECT * FROM c; DROP TABLE c; ALTER TABLE n RENAME TO c;
            """,
        ])
    func effective(change: String) throws {
        let store = try TestStore(folder.file("a.db"), schema: Self.schema)
        #expect(try isShownAgain(store, after: change))
    }

    @Test("after each one while a row is not shown as it was recorded, or with a policy")
    func unresolved() throws {
        let a = try TestStore(
            folder.file("a.db"), schema: Self.schema + "CREATE UNIQUE INDEX u ON c(a)")
        let b = try a.copy(at: folder.file("b.db"))
        for (store, id) in [(a, 2), (b, 3)] {
            try store.run("INSERT INTO c VALUES (\(id), 1, 'same', '\(id)')")
        }
        try TestStore.sync(a, b)
        #expect(try isShownAgain(a, after: "CREATE INDEX i ON c(a, b)"))
        let c = try TestStore(folder.file("c.db"), schema: Self.schema)
        try c.replica.setPolicies(
            MergePolicies(entities: ["c": .init(columns: ["b": .counter])]))
        #expect(try isShownAgain(c, after: "CREATE INDEX i ON c(a, b)"))
    }

    @Test("what an earlier version stored counts as the schema that it names")
    func earlierVersion() throws {
        let store = try TestStore(folder.file("a.db"), schema: Self.schema)
        #expect(try !isShownAgain(store, after: "UPDATE c SET a = 'new'", isEarlier: true))
        #expect(try isShownAgain(store, after: "CREATE INDEX i ON c(a, b)", isEarlier: true))
    }
}
