import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncReplica

/// The copy of a store that a join reads.
@Suite struct PrivateCopyTests {
    @Test func noOtherUserMayReadTheCopyThatAJoinMatches() async throws {
        let folder = try TemporaryFolder()
        let a = try RestoredFile(
            folder.file("a.db"), schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)",
            isSigning: true)
        let shared = folder.file("shared")
        mkdir(shared, 0o755)
        let store = try await a.withReplica { $0.storeID }
        try DirectoryRemote.create(shared, store: store)
        let entry = try RemoteEntry(name: "origin", url: "dir:" + shared)
        try a.run("INSERT INTO note(text) VALUES ('first')")
        _ = try await a.withReplica { try await $0.exchange(.sync, with: entry, ring: KeyRing()) }
        let copy = folder.file("j.db.syncd-join")
        try await RemoteConnection.with(
            entry, store: store, replica: DirectoryRemote.observer, ring: KeyRing()
        ) { try await $0.copy(to: copy) }
        var status = stat()
        #expect(stat(copy, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
}
