#if THREAD_SANITIZER
    import Foundation

    /// `Synchronization.Mutex` as the thread sanitizer can see it, in builds of `make stress`
    /// alone: the original's locking happens in a library that is not instrumented, so that all
    /// that it guards would be reported.
    ///
    /// A module's own name goes before an imported one: each module that is built with
    /// instrumentation and locks with `Mutex` has this file.
    ///
    /// `@unchecked Sendable`: `value` is touched with the lock held.
    package final class Mutex<Value: ~Copyable>: @unchecked Sendable {
        private var value: Value
        private let lock = NSLock()

        package init(_ value: consuming sending Value) { self.value = value }

        package func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        }
    }
#endif
