import ServiceLifecycle
import UnixSignals

/// Rereads the configuration at each SIGHUP, until the daemon stops.
struct ReloadService: Service {
    private let reload: @Sendable () async -> Void

    init(_ reload: @escaping @Sendable () async -> Void) { self.reload = reload }

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() { await reload() }
    }
}
