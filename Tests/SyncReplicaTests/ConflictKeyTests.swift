import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// The conflict log names objects that have no row here.
@Suite("Conflicts of objects without a row")
struct ConflictKeyTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("the key of an object that a merge never showed comes from its facts")
    func keyOfHiddenObject() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE list(name TEXT PRIMARY KEY NOT NULL);
                CREATE TABLE item(list TEXT NOT NULL REFERENCES list(name) ON DELETE CASCADE,
                  place INT NOT NULL, text TEXT, PRIMARY KEY(list, place));
                INSERT INTO list VALUES ('food');
                """)
        try a.run("DELETE FROM list")
        try b.run("INSERT INTO item VALUES ('food', 7, 'eggs')")
        try TestStore.sync(a, b)
        for store in [a, b] {
            let conflicts = try store.replica.conflicts()
            #expect(!conflicts.isEmpty)
            #expect(conflicts.allSatisfy { $0.key?.values == ["food", 7] }, "\(conflicts)")
        }
    }
}
