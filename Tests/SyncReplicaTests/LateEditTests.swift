import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// An edit of a row that the others had deleted, and whose delete was collected before the edit
/// came: of the row there is the edit alone.
@Suite("Edits of collected rows", .timeLimit(.minutes(5)))
struct LateEditTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Two stores that have dropped a row, and one that nobody waited for and that edited it.
    private func stores() throws -> [TestStore] {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE k(id TEXT PRIMARY KEY, v TEXT, w TEXT);
                INSERT INTO k VALUES ('a', '1', 'x'), ('z', '1', 'x');
                """)
        let d = try b.copy(at: folder.file("d.db"))
        try a.run("DELETE FROM k WHERE id = 'a'")
        var dropped = 0
        for _ in 0..<3 {
            try TestStore.sync(a, b)
            for store in [a, b] { dropped += try store.replica.collect().objects }
        }
        #expect(dropped == 2)
        try d.run("UPDATE k SET v = 'late' WHERE id = 'a'")
        try TestStore.sync(d, a, b)
        return [a, b, d]
    }

    private func id(_ store: TestStore) throws -> Int64 {
        try #require(try store.replica.conflicts().first).id
    }

    @Test("it is an open conflict with a deleted row, not a row that a constraint keeps out")
    func isToldAsDeleted() throws {
        for store in try stores() {
            #expect(try store.rows("SELECT id FROM k") == [["z"]])
            let conflicts = try store.replica.conflicts()
            #expect(conflicts.map(\.wasDeleted) == [true], "\(conflicts)")
            #expect(conflicts.map(\.presence) != [.notShown])
            #expect(conflicts.first?.losing.values.pairs.map(\.value) == ["late"])
            #expect(try store.replica.hiddenRowCount() == 0)
        }
    }

    @Test("the delete can be confirmed where only the edit is known", arguments: [true, false])
    func canBeConfirmed(bySettling: Bool) throws {
        let all = try stores()
        if bySettling {
            try all[0].replica.closeConflicts(author: nil, isDeletingHidden: false)
        } else {
            try all[0].replica.resolve(id(all[0]), keeping: .shown, author: nil)
        }
        try TestStore.sync(all[0], all[1], all[2])
        for store in all {
            #expect(try store.replica.conflicts().isEmpty)
            #expect(try store.rows("SELECT id FROM k") == [["z"]])
        }
    }

    @Test("the edit alone cannot be shown")
    func isNoRow() throws {
        let all = try stores()
        let error = #expect(throws: SyncError.self) {
            try all[0].replica.resolve(id(all[0]), keeping: .losing, author: nil)
        }
        #expect(error?.code == .refused && error?.hint?.contains("insert it") == true)
    }

    @Test("an insert of the row takes the place of the edit")
    func inserted() throws {
        let all = try stores()
        try all[1].run("INSERT INTO k VALUES ('a', 'new', 'y')")
        try TestStore.sync(all[0], all[1], all[2])
        for store in all {
            #expect(try store.rows("SELECT * FROM k ORDER BY 1").first == ["a", "new", "y"])
        }
        try all[0].replica.closeConflicts(author: nil, isDeletingHidden: false)
        try TestStore.sync(all[0], all[1], all[2])
        for store in all { #expect(try store.replica.conflicts().isEmpty) }
    }
}
