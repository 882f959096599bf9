import SyncValues

/// One copy of a store, as an exchange of batches sees it.
package protocol Replica: Sendable {
    /// The store that it is a replica of.
    /// - Throws: the errors of its storage.
    var store: StoreID { get async throws }

    /// Its identity among the replicas of the store.
    /// - Throws: the errors of its storage.
    var replicaID: ReplicaID { get async throws }

    /// What it has merged.
    /// - Throws: the errors of its storage.
    var vector: VersionVector { get async throws }

    /// What a receiver that has merged `since` lacks, as batches to be merged in this order; none
    /// when nothing is missing. They are of this moment.
    /// - Throws: the errors of its storage.
    func outgoing(since: VersionVector) async throws -> any BatchSource

    /// Stores what other replicas have acknowledged.
    /// - Throws: the errors of its storage.
    func noteAcknowledged(_ acknowledged: [ReplicaID: VersionVector]) async throws

    /// What other replicas are known to have merged, without those that are not waited for.
    /// - Throws: the errors of its storage.
    var peers: [ReplicaID: VersionVector] { get async throws }

    /// The cut up to which others have collected before they knew what was written here: a snapshot
    /// that covers it is needed, whatever has been merged. Empty: none.
    /// - Throws: the errors of its storage.
    var behind: VersionVector { get async throws }

    /// The replicas whose snapshots it needs, because it may not believe one alone; empty: any
    /// snapshot that covers ``behind`` helps.
    /// - Throws: the errors of its storage.
    var awaited: Set<ReplicaID> { get async throws }

    /// Whose batches are accepted: others have to send again what is not.
    /// - Throws: the errors of its storage.
    var membership: Membership { get async throws }

    /// Checks that others accept what it sends.
    /// - Throws: `notMember` when another member has removed it.
    func requireMembership() async throws

    /// Sums of what it has merged, as ``StateSums`` encodes them; nil while it cannot state any: it
    /// has merged only some of the batches that belong together.
    /// - Throws: the errors of its storage.
    var sums: [UInt8]? { get async throws }

    /// Compares what other replicas state with what this one stated of the same moment; what cannot
    /// be read is ignored.
    /// - Returns: the replicas that differ from this one.
    /// - Throws: the errors of its storage.
    func compare(_ sums: [ReplicaID: [UInt8]]) async throws -> [StateDifference]

    /// What it has merged and cannot show, because its schema has no place for it.
    /// - Throws: the errors of its storage.
    var waiting: [WaitingChanges] { get async throws }

    /// The newest of its own transactions that may have been sent; nil: unknown.
    /// - Throws: the errors of its storage.
    var sent: Int64? { get async throws }

    /// Stores that its own transactions up to a number were sent.
    /// - Throws: the errors of its storage.
    func noteSent(_ number: Int64) async throws

    /// The number of a transaction in a batch that has this replica's identity and that it did not
    /// write; nil: there is none. Stores those that it did write as sent.
    /// - Throws: `badData` or `newerFormat` for bytes that are no batch.
    func foreignNumber(in batch: [UInt8]) async throws -> Int64?

    /// Whether it signs what it sends: a transaction in its name that it did not sign is another
    /// one's, and nothing to stop for.
    /// - Throws: the errors of its storage.
    var isSigning: Bool { get async throws }

    /// Merges a batch, whole or not at all; merging it again changes nothing.
    /// - Returns: false when the batch starts after what is here.
    /// - Throws: `badData` or `newerFormat` for bytes that are no batch.
    func merge(_ batch: [UInt8]) async throws -> Bool
}

extension Replica {
    package func noteAcknowledged(_ acknowledged: [ReplicaID: VersionVector]) async throws {}
    package var peers: [ReplicaID: VersionVector] { [:] }
    package var behind: VersionVector { VersionVector() }
    package var awaited: Set<ReplicaID> { [] }
    package var membership: Membership { Membership() }
    package func requireMembership() async throws {}
    package var sums: [UInt8]? { nil }
    package func compare(_ sums: [ReplicaID: [UInt8]]) async throws -> [StateDifference] { [] }
    package var waiting: [WaitingChanges] { [] }
    package var sent: Int64? { nil }
    package func noteSent(_ number: Int64) async throws {}
    package var isSigning: Bool { false }
    package func foreignNumber(in batch: [UInt8]) async throws -> Int64? { nil }
}
