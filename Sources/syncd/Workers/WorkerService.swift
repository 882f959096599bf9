import ServiceLifecycle
import SyncCore

/// Looks after the workers until the daemon stops.
struct WorkerService: Service {
    let workers: OwnerWorkers
    /// Gets the stores whose files have another owner now; blocks.
    let onMove: @Sendable (ExactMap<UInt32>) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown { await workers.run(onMove: onMove) }
    }
}
