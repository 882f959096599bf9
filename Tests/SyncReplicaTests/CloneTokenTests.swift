import SyncCore
import SyncTesting
import Testing

@testable import SyncReplica

@Suite("The tokens of a clone", .timeLimit(.minutes(1)))
struct CloneTokenTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A number may lie within a transaction of the other one, where the token's check says nothing.
    @Test("they are foreign at the original, and its tokens at the clone")
    func areForeign() throws {
        let a = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT)")
        try a.run("INSERT INTO t VALUES ('1', 'x'), ('2', 'x'), ('3', 'x')")
        let path = folder.file("b.db")
        try StoreReplica.clone(at: path, from: a.replica.export()).close()
        try a.run("DELETE FROM t; INSERT INTO t VALUES ('4', 'y'), ('5', 'y'), ('6', 'y')")
        let b = try Store.open(path)
        defer { try? b.close() }
        let original = try Store.open(a.path)
        defer { try? original.close() }
        let tokens = try (b.history().map(\.token), original.history().map(\.token))
        #expect(!tokens.0.isEmpty && !tokens.1.isEmpty)
        for token in tokens.0 {
            #expect(throws: SyncError(.foreignHistory, "")) { try original.check(token) }
        }
        for token in tokens.1 {
            #expect(throws: SyncError(.foreignHistory, "")) { try b.check(token) }
        }
    }
}
