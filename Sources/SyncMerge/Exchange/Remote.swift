import SyncValues

/// A place that batches are sent to and fetched from: a folder, another store, a hub.
///
/// What every remote promises (`RemoteConformance` in SyncTesting tests it):
/// - A batch whose ``append(_:)`` returned is durable, and in every later catalog until an outside
///   cause removes it. Appending it again changes nothing.
/// - A catalog holds whole batches of the remote's own store alone. What is truncated, foreign or
///   visibly damaged is left out, and listed in ``BatchCatalog/problems``.
/// - A remote that vanished is not created again: every call throws `unreachable`.
package protocol Remote: Sendable {
    /// The batches that a receiver that has merged `since` may fetch. A remote that keeps files
    /// lists all of them; one that is another store lists what it would send next: more to a
    /// receiver that has merged these.
    /// - Throws: `unreachable` when the remote is not there.
    func catalog(since: VersionVector) async throws -> BatchCatalog

    /// Whether it keeps the batches that are appended, and its catalog is all of them.
    var keepsBatches: Bool { get }

    /// What a receiver that starts with nothing can merge from the remote. A push starts there, so
    /// that what a remote has lost is sent again by a replica that still has it.
    /// - Throws: `unreachable` when the remote is not there.
    func head() async throws -> VersionVector

    /// The same without the batches that the members refuse.
    /// - Throws: `unreachable` when the remote is not there.
    func head(for members: Membership) async throws -> VersionVector

    /// The same, with what cannot be read.
    /// - Parameter known: how far the remote has led before, without the asking replica's own
    ///   transactions: what cannot be read counts as present, up to there.
    /// - Throws: `unreachable` when the remote is not there.
    func survey(
        for members: Membership, knowing known: VersionVector
    ) async throws -> RemoteHead

    /// The bytes of a batch of the catalog.
    /// - Throws: `unreachable` when the remote or the batch is not there any more.
    func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8]

    /// Adds a batch.
    /// - Throws: `badData` for bytes that are no whole batch; `refused` for a batch of another
    ///   store; `unreachable` when the remote is not there.
    func append(_ batch: [UInt8]) async throws

    /// Reports that the replica has merged `vector`: others wait for that before they collect.
    /// - Throws: `unreachable` when the remote is not there.
    func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws

    /// What the replicas that use the remote have acknowledged.
    /// - Throws: `unreachable` when the remote is not there.
    func acknowledged() async throws -> [ReplicaID: VersionVector]

    /// States sums of a replica's facts, as ``StateSums`` encodes them, for others to compare. A
    /// remote of an earlier version does not keep them.
    /// - Throws: `unreachable` when the remote is not there.
    func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws

    /// The newest sums that replicas have stated here.
    /// - Throws: `unreachable` when the remote is not there.
    func notedSums() async throws -> [ReplicaID: [UInt8]]

    /// Requests a snapshot, made by a replica that has collected up to `collected`; empty: the
    /// request is withdrawn. Not needed where the other side makes batches on demand.
    /// - Throws: `unreachable` when the remote is not there.
    func requestSnapshot(covering collected: VersionVector) async throws

    /// The snapshots that other replicas have requested.
    /// - Throws: `unreachable` when the remote is not there.
    func requestedSnapshots() async throws -> [VersionVector]

    /// Tells replicas that have the content which batches the replica found damaged when it fetched
    /// them; none: it has what it needs. A batch that is damaged indeed is not in the catalog from
    /// then on, so that it is sent again.
    /// - Throws: `unreachable` when the remote is not there.
    func noteDamaged(_ names: [String]) async throws

    /// The batches that the replica itself put there, where the remote keeps batches and there are
    /// more of them than `count`; empty otherwise.
    /// - Throws: `unreachable` when the remote is not there.
    func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item]

    /// Removes batches that the replica itself put there. A batch that is already gone is not an
    /// error.
    /// - Throws: `unreachable` when the remote is not there.
    func remove(_ items: [BatchCatalog.Item]) async throws

    /// Removes the damaged batches that the replica itself put there: after a push, which has sent
    /// again what they held.
    /// - Parameter number: the newest transaction that the replica has of its own. What was written
    ///   after it stays: a database that was put back to an earlier state has not sent it again.
    /// - Throws: `unreachable` when the remote is not there.
    func removeUnusable(upTo number: Int64) async throws

    /// Closes the connection, where there is one. The next call opens a new one.
    func disconnect() async
}

extension Remote {
    package var keepsBatches: Bool { false }

    /// A remote that keeps transactions, not batches, has merged them itself.
    package func head(for members: Membership) async throws -> VersionVector {
        try await head()
    }
    package func survey(
        for members: Membership, knowing known: VersionVector
    ) async throws -> RemoteHead {
        RemoteHead(try await head(for: members))
    }
    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] { [] }
    package func requestSnapshot(covering collected: VersionVector) async throws {}
    package func requestedSnapshots() async throws -> [VersionVector] { [] }
    package func noteDamaged(_ names: [String]) async throws {}
    package func remove(_ items: [BatchCatalog.Item]) async throws {}
    package func removeUnusable(upTo number: Int64) async throws {}
    package func disconnect() async {}
}
