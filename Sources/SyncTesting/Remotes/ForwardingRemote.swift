import SyncMerge
import SyncValues

/// A remote that passes the calls on that it does not meddle with.
package protocol ForwardingRemote: Remote {
    associatedtype Inner: Remote
    /// Where they go.
    /// - Throws: where it is not reached.
    func inner() async throws -> Inner
}

extension ForwardingRemote {
    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        try await inner().catalog(since: since)
    }

    package func head() async throws -> VersionVector { try await inner().head() }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try await inner().fetch(item)
    }

    package func append(_ batch: [UInt8]) async throws { try await inner().append(batch) }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try await inner().acknowledge(vector, of: replica)
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await inner().acknowledged()
    }

    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        try await inner().noteSums(sums, of: replica)
    }

    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        try await inner().notedSums()
    }
}
