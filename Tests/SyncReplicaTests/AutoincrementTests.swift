import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// AUTOINCREMENT: a number is not used again, no matter who deleted the row that had it.
@Suite("Merging: AUTOINCREMENT")
struct AutoincrementTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("the number of a row that was deleted is not given again, on a clone either")
    func numbersAreNotUsedAgain() throws {
        let a = try TestStore(
            folder.file("a.db"),
            schema: """
                CREATE TABLE doc(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT);
                INSERT INTO doc(v) VALUES ('1'), ('2'), ('3');
                """)
        _ = try a.replica.vector
        try a.run("DELETE FROM doc WHERE id = 3")
        let b = try a.copy(at: folder.file("b.db"))
        try b.run("INSERT INTO doc(v) VALUES ('b')")
        #expect(try b.rows("SELECT id FROM doc WHERE v = 'b'") == [[4]])
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT id FROM doc WHERE v = 'b'") == [[4]])
        try a.run("DELETE FROM doc WHERE v = 'b'")
        try TestStore.sync(a, b)
        for store in [a, b] {
            try store.run("INSERT INTO doc(v) VALUES ('new')")
            #expect(try store.rows("SELECT id FROM doc WHERE v = 'new'") == [[5]])
        }
    }
}
