import SyncValues

/// One copy of a store, as an exchange of batches sees it.
package protocol Replica: Sendable {
    /// The family that it belongs to.
    var store: StoreID { get async throws }

    /// Its own name in the family.
    var replicaID: ReplicaID { get async throws }

    /// What it has merged.
    var vector: VersionVector { get async throws }

    /// What somebody who has merged `since` lacks, as batches to be merged in this order; empty
    /// when nothing is missing.
    func batches(since: VersionVector) async throws -> [[UInt8]]

    /// Takes note of what other replicas have said to have merged.
    func heard(_ acknowledged: [ReplicaID: VersionVector]) async throws

    /// What other replicas are known to have merged, those that nobody waits for left out.
    var peers: [ReplicaID: VersionVector] { get async throws }

    /// Up to where others have collected before they knew what was written here: a snapshot that
    /// covers it is needed, whatever is merged. Empty: none.
    var behind: VersionVector { get async throws }

    /// What it has merged and cannot show, because its schema has no place for it.
    var waiting: [WaitingChanges] { get async throws }

    /// The newest of its own transactions that anybody may have; nil: it does not know.
    var sent: Int64? { get async throws }

    /// Takes note that its own transactions up to a number were sent.
    func noteSent(_ number: Int64) async throws

    /// The number of a transaction in a batch that is in this replica's name and that it did not
    /// write; nil: there is none. Takes note of those that it did write.
    /// - Throws: `badData` or `newerFormat` for bytes that are no batch.
    func foreignNumber(in batch: [UInt8]) async throws -> Int64?

    /// Merges a batch, whole or not at all; merging it again changes nothing.
    /// - Returns: false when the batch starts after what is here.
    /// - Throws: `badData` or `newerFormat` for bytes that are no batch.
    func merge(_ batch: [UInt8]) async throws -> Bool
}

extension Replica {
    package func heard(_ acknowledged: [ReplicaID: VersionVector]) async throws {}
    package var peers: [ReplicaID: VersionVector] { [:] }
    package var behind: VersionVector { VersionVector() }
    package var waiting: [WaitingChanges] { [] }
    package var sent: Int64? { nil }
    package func noteSent(_ number: Int64) async throws {}
    package func foreignNumber(in batch: [UInt8]) async throws -> Int64? { nil }
}
