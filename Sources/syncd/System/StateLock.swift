import Glibc

/// One daemon a state directory: two would write each other's boundaries and lists of stores.
///
/// The lock is of the open file: the kernel drops it however the process ends.
final class StateLock: Sendable {
    private let descriptor: Int32

    /// How long a daemon that starts waits for the lock: one that was killed a moment ago has it
    /// until the kernel has taken its memory apart.
    static let daemonWaitMax = Duration.seconds(2)

    /// Takes the lock of the daemon's state directory.
    ///
    /// - Parameters:
    ///   - directory: exists.
    ///   - limit: how long to wait for it. Blocks.
    /// - Throws: ``StartFailure`` when another daemon keeps it. A directory that takes no lock file
    ///   is for others to report.
    convenience init(ofDaemonIn directory: String, waiting limit: Duration = daemonWaitMax) throws {
        try self.init(
            directory: directory, waiting: limit,
            failing: StartFailure(
                exitStatus: 69,
                "\(directory): another syncd uses this state directory; stop it, or choose another "
                    + "one with --state"))
    }

    /// Takes the lock of a worker's directory, and waits while the worker before it ends.
    ///
    /// - Throws: ``StartFailure`` when that takes too long.
    convenience init(ofWorkerIn directory: String, waiting limit: Duration) throws {
        try self.init(
            directory: directory, waiting: limit,
            failing: StartFailure(
                exitStatus: 75, "\(directory): the worker before it does not end"))
    }

    private init(directory: String, waiting limit: Duration, failing failure: StartFailure) throws {
        descriptor = open(
            directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o640)
        let end = ContinuousClock.now + limit
        while descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            guard ContinuousClock.now < end else { throw failure }
            usleep(10_000)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
