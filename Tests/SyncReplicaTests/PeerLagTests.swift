import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// What other replicas are known to lack (`synctool status`).
@Suite("What replicas lack")
struct PeerLagTests {
    @Test(
        "it is counted in transactions, not in their rows, and without those of the replica itself")
    func transactions() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
        let many = "INSERT INTO item(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        try a.run(many + "SELECT i + 1 FROM n WHERE i < 300) SELECT 'a' || i FROM n")
        try b.pull(from: a)
        try b.run("DELETE FROM item WHERE id < 100")
        try b.run("UPDATE item SET name = 'b'")
        let own = a.replica.replicaID
        try b.replica.noteAcknowledged([own: VersionVector()])
        _ = try b.replica.vector
        let lag = try #require(try Store.peerLags(b.path).first { $0.replica == own })
        #expect(lag.behind == 2 && lag.behindSince != nil)

        try a.pull(from: b)
        try b.replica.noteAcknowledged([own: a.replica.vector])
        let none = try #require(try Store.peerLags(b.path).first { $0.replica == own })
        #expect(none.behind == 0 && none.behindSince == nil)
    }
}
