import SyncMerge
import SyncValues

/// A remote as a machine sees it whose power may fail: after that it reaches nothing.
package struct MortalRemote<Inner: Remote>: ForwardingRemote {
    private let remote: Inner
    private let disk: FaultyDisk

    package init(_ remote: Inner, of disk: FaultyDisk) {
        self.remote = remote
        self.disk = disk
    }

    package func inner() throws -> Inner {
        guard !disk.isDead else { throw SyncError(.unreachable, "the power has failed") }
        return remote
    }

    package func requestSnapshot(covering collected: VersionVector) async throws {
        try await inner().requestSnapshot(covering: collected)
    }

    package func requestedSnapshots() async throws -> [VersionVector] {
        try await inner().requestedSnapshots()
    }
}
