import Glibc
import ServiceLifecycle
import UnixSignals

/// The signals that steer the daemon.
///
/// Those that stop it are caught from before its socket exists until after it is gone: one that is
/// sent as soon as a client was answered would end the process with its socket left behind. One
/// that comes earlier ends a process that has nothing to leave behind, however many stores it is
/// about to open. SIGHUP is caught from the start, and waits until the stores are there: the
/// configuration that was read may be out of date then.
struct DaemonSignals: Sendable {
    /// SIGTERM and SIGINT.
    let stop: UnixSignalsSequence
    /// SIGHUP.
    let reload: UnixSignalsSequence

    /// Before the configuration is read: what SIGHUP asks for comes after it.
    static func prepare() { signal(SIGHUP, SIG_IGN) }
}

/// Ends with the first signal of a sequence: a group that stops when a service ends is stopped.
struct StopService: Service {
    let signals: UnixSignalsSequence

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { return }
    }
}
