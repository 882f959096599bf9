import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// A person decides a clash of UNIQUE values for the row that was shown with another one.
@Suite("Merging: a clash that a person decides")
struct UniqueDecisionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("the losing row gets the value, and the other one steps back, on all replicas")
    func keepLosing() throws {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, name TEXT);
                INSERT INTO u VALUES (1, 'ann', 'Ann'), (2, 'bob', 'Bob');
                """)
        try a.run("UPDATE u SET email = 'new' WHERE id = 1")
        try b.run("UPDATE u SET email = 'new' WHERE id = 2")
        try TestStore.sync(a, b)
        let open = try a.replica.conflicts(open: true)
        #expect(open.count == 1)
        #expect(try a.rows("SELECT name FROM u WHERE email = 'new'") == [["Ann"]])
        try a.replica.resolve(open[0].id, keeping: .losing, author: nil)
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT name FROM u WHERE email = 'new'") == [["Bob"]])
            #expect(try store.rows("SELECT count(*) FROM u") == [[2]])
        }
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
        #expect(try a.dump() == b.dump())
    }
}
