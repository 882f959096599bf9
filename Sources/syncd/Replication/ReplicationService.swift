import ServiceLifecycle

/// The ``Replicator`` as a part of the daemon's life: it ends when the daemon stops.
struct ReplicationService: Service {
    let replicator: Replicator

    func run() async throws {
        await cancelWhenGracefulShutdown { await replicator.run() }
    }
}
