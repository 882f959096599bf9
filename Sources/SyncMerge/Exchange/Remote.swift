import SyncValues

/// Where batches go and come from: a folder, another store, a hub.
///
/// What every remote promises (`RemoteConformance` in SyncTesting tests it):
/// - A batch whose ``append(_:)`` returned is durable, and in every later catalog until it is lost
///   for a reason outside. Appending it again changes nothing.
/// - A catalog holds whole batches of the remote's own store alone. What is cut short, foreign or
///   damaged on its face is left out, and named in ``BatchCatalog/problems``.
/// - Nothing is made anew: a remote that vanished is `unreachable`, whoever asks.
package protocol Remote: Sendable {
    /// What a receiver who has merged `since` may fetch. A remote that keeps files tells of all of
    /// them, one that is another store of what it would send.
    /// - Throws: `unreachable` when the remote is not there.
    func catalog(since: VersionVector) async throws -> BatchCatalog

    /// How far somebody who has merged nothing can come with what is there. A push starts here, so
    /// that a remote that lost something is healed by whoever still has it.
    /// - Throws: `unreachable` when the remote is not there.
    func head() async throws -> VersionVector

    /// The bytes of a batch of the catalog.
    /// - Throws: `unreachable` when the remote or the batch is not there any more.
    func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8]

    /// Adds a batch.
    /// - Throws: `badData` for bytes that are no whole batch; `refused` for a batch of another
    ///   store; `unreachable` when the remote is not there.
    func append(_ batch: [UInt8]) async throws

    /// Says that the replica has merged `vector`: what others wait for.
    /// - Throws: `unreachable` when the remote is not there.
    func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws

    /// What the replicas that use the remote have said to have merged.
    /// - Throws: `unreachable` when the remote is not there.
    func acknowledged() async throws -> [ReplicaID: VersionVector]

    /// Asks the others for a snapshot of a store that has collected as far as `collected`; empty:
    /// it is not needed any more. Nothing is to be done where the other side makes at once what is
    /// asked for.
    /// - Throws: `unreachable` when the remote is not there.
    func ask(for collected: VersionVector) async throws

    /// What other replicas have asked for.
    /// - Throws: `unreachable` when the remote is not there.
    func asked() async throws -> [VersionVector]

    /// The batches that the replica itself put there, where the remote keeps batches and there are
    /// more of them than `count`; empty otherwise.
    /// - Throws: `unreachable` when the remote is not there.
    func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item]

    /// Removes batches that the replica itself put there. One that is gone already is no error.
    /// - Throws: `unreachable` when the remote is not there.
    func remove(_ items: [BatchCatalog.Item]) async throws

    /// Ends a connection, where there is one. The next call makes a new one.
    func disconnect() async
}

extension Remote {
    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] { [] }
    package func ask(for collected: VersionVector) async throws {}
    package func asked() async throws -> [VersionVector] { [] }
    package func remove(_ items: [BatchCatalog.Item]) async throws {}
    package func disconnect() async {}
}
