import ServiceLifecycle
import UnixSignals

/// Rereads the configuration at each signal (SIGHUP), until the daemon stops.
struct ReloadService: Service {
    let signals: UnixSignalsSequence
    let reload: @Sendable () async -> Void

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { await reload() }
    }
}
