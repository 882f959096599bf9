import ServiceLifecycle
import UnixSignals

/// The signals that steer the daemon, caught from before its socket exists until after it is gone.
///
/// A signal that comes while a part is still missing waits for that part: otherwise one that is
/// sent as soon as a client was answered would end the process with its socket left behind.
struct DaemonSignals: Sendable {
    /// SIGTERM and SIGINT.
    let stop: UnixSignalsSequence
    /// SIGHUP.
    let reload: UnixSignalsSequence

    static func caught() async -> DaemonSignals {
        await DaemonSignals(
            stop: UnixSignalsSequence(trapping: .sigterm, .sigint),
            reload: UnixSignalsSequence(trapping: .sighup))
    }
}

/// Ends with the first signal of a sequence: a group that stops when a service ends is stopped.
struct StopService: Service {
    let signals: UnixSignalsSequence

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { return }
    }
}
