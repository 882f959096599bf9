import SyncMerge
import SyncValues

/// A remote as a machine sees it whose power may fail: after that it reaches nothing.
package struct MortalRemote<Inner: Remote>: Remote {
    private let inner: Inner
    private let disk: FaultyDisk

    package init(_ inner: Inner, of disk: FaultyDisk) {
        self.inner = inner
        self.disk = disk
    }

    private func alive() throws -> Inner {
        guard !disk.isDead else { throw SyncError(.unreachable, "the power has failed") }
        return inner
    }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        try await alive().catalog(since: since)
    }

    package func head() async throws -> VersionVector { try await alive().head() }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try await alive().fetch(item)
    }

    package func append(_ batch: [UInt8]) async throws { try await alive().append(batch) }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try await alive().acknowledge(vector, of: replica)
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await alive().acknowledged()
    }

    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        try await alive().noteSums(sums, of: replica)
    }

    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        try await alive().notedSums()
    }

    package func requestSnapshot(covering collected: VersionVector) async throws {
        try await alive().requestSnapshot(covering: collected)
    }

    package func requestedSnapshots() async throws -> [VersionVector] {
        try await alive().requestedSnapshots()
    }
}
