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

    /// Merges a batch, whole or not at all; merging it again changes nothing.
    /// - Returns: false when the batch starts after what is here.
    /// - Throws: `badData` or `newerFormat` for bytes that are no batch.
    func merge(_ batch: [UInt8]) async throws -> Bool
}
