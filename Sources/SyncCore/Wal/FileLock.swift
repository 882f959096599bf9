import Glibc

/// The lock between the process that records boundaries and those that digest without it
/// (flock(2)): both read, decide and write, and a boundary that one has told must not be missed by
/// the other. Advisory, and never waited for without a limit.
enum FileLock {
    /// How long a recorder waits: a notice is late by this much at most.
    static let recorderWait = Duration.milliseconds(20)
    /// How long a reader that settles waits, before it reports rows instead.
    static let readerWait = Duration.milliseconds(200)
    private static let pause: UInt32 = 100

    /// - Returns: whether the lock was taken.
    static func take(_ descriptor: Int32, waitingFor limit: Duration) -> Bool {
        guard descriptor >= 0 else { return false }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            usleep(pause)
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        }
        return false
    }

    static func release(_ descriptor: Int32) {
        if descriptor >= 0 { _ = flock(descriptor, LOCK_UN) }
    }
}
