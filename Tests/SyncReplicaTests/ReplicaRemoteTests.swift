import SyncMerge
import SyncReplica
import SyncTesting
import Testing

@Suite("A store as a remote")
struct ReplicaRemoteTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A receiver that had to connect again is served by another process. It passes over the names
    /// that it has merged, and came to the end of the remote without the rest.
    @Test("another server has other names for other batches")
    func namesAreOfBatches() async throws {
        let store = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE tag(name TEXT PRIMARY KEY)")
        try store.run("INSERT INTO tag VALUES ('one')")
        let first = try await ReplicaRemote(store.replica).catalog(since: VersionVector())
        let seen = first.items.reduce(into: VersionVector()) { $0.join($1.envelope.upTo) }
        try store.run("INSERT INTO tag VALUES ('two')")
        let rest = try await ReplicaRemote(store.replica).catalog(since: seen)
        #expect(!first.items.isEmpty && !rest.items.isEmpty)
        #expect(Set(first.items.map(\.name)).isDisjoint(with: rest.items.map(\.name)))
    }
}
