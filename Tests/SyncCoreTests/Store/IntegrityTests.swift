import SyncCore
import SyncTesting
import Testing

@Suite("SQLite's check of a file")
struct IntegrityTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.db")
        let writer = try PlainConnection(path)
        // SQLite 3.40's quick check names NULL in t.a.
        try writer.run("CREATE TABLE t(a TEXT, b TEXT, PRIMARY KEY(b, a)) WITHOUT ROWID")
        try writer.run("INSERT INTO t VALUES ('x', 'y')")
        writer.close()
    }

    @Test func aKeyInAnotherOrderThanTheColumnsIsNoDamage() throws {
        #expect(try Store.integrity(path) == [])
    }

    @Test func whatBothChecksFindIsNamed() throws {
        let writer = try PlainConnection(path)
        try writer.run("CREATE TABLE note(text TEXT)")
        try writer.run("INSERT INTO note VALUES (NULL)")
        try writer.run("PRAGMA writable_schema = ON")
        try writer.run(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE note(text TEXT NOT NULL)' "
                + "WHERE name = 'note'")
        writer.close()
        #expect(try Store.integrity(path) == ["NULL value in note.text"])
    }
}
