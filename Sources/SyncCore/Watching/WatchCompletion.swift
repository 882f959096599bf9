import Glibc

/// Lets one thread wait until another has executed a command.
///
/// `@unchecked Sendable`: the pointer never changes, and a POSIX semaphore may be used by any
/// thread.
final class WatchCompletion: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Lets the waiting thread go on.
    func signal() { sem_post(semaphore) }

    /// Returns after ``signal()``.
    func wait() {
        while sem_wait(semaphore) != 0, errno == EINTR {}
    }
}
