import Glibc

/// One daemon a state directory: two would write each other's boundaries and lists of stores.
///
/// The lock is of the open file: the kernel drops it however the process ends.
final class StateLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Parameter directory: exists.
    /// - Throws: ``StartFailure`` when another daemon has it. A directory that takes no lock file
    ///   is for others to report.
    init(directory: String) throws {
        descriptor = open(
            directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o640)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK
        else { return }
        throw StartFailure(
            exitStatus: 69,
            "\(directory): another syncd uses this state directory; stop it, or choose another "
                + "one with --state")
    }

    /// Takes the lock of a worker's directory, and waits while the worker before it ends.
    ///
    /// - Throws: ``StartFailure`` when that takes too long.
    init(directory: String, waiting limit: Duration) throws {
        descriptor = open(
            directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o640)
        let end = ContinuousClock.now + limit
        while descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            guard ContinuousClock.now < end else {
                throw StartFailure(
                    exitStatus: 75, "\(directory): the worker before it does not end")
            }
            usleep(10_000)
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
