import Foundation

/// The recursive lock of a context and of its objects. Held for one unit of work, or for one
/// access.
///
/// `@unchecked Sendable`: the lock is made for sharing; `depth` is touched only while it is held;
/// `context` is set once, by the context's initializer.
final class Gate: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The recursion depth of the lock.
    private(set) var depth = 0
    /// The context that owns the gate, stored here rather than in each object. Nil after the
    /// context ended, and for an object without a context.
    weak var context: ManagedObjectContext?
    /// The objects of the context.
    let objects: ObjectTable?

    init(objects: ObjectTable? = nil) {
        self.objects = objects
        mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        depth += 1
        defer {
            depth -= 1
            pthread_mutex_unlock(mutex)
        }
        return try body()
    }
}
