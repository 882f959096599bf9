import Glibc
import Logging
import ServiceLifecycle

/// Ends the process when the stop takes too long: a system call on a file system that does not
/// answer cannot be interrupted. The databases are then as after a crash, which loses nothing.
struct StopLimit: Service {
    /// Shorter, and the digests of a stop may be cut off; longer, and the service manager kills
    /// the daemon first (90 s).
    private static let seconds: UInt32 = 20

    let log: Logger

    func run() async throws {
        try? await gracefulShutdown()
        let box = Unmanaged.passRetained(Box(log))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let log = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().log
                sleep(StopLimit.seconds)
                log.error("work on a store or a remote does not end; stopped without it")
                _exit(0)
            }, box.toOpaque())
        if status == 0 { pthread_detach(thread) } else { box.release() }
    }

    private final class Box: Sendable {
        let log: Logger
        init(_ log: Logger) { self.log = log }
    }
}
