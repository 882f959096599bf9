#if THREAD_SANITIZER
    import Foundation

    /// A `Synchronization.Mutex` that the thread sanitizer understands, only in builds of `make
    /// stress`: the original's locking is in a library without instrumentation, so that all
    /// accesses it guards would be reported.
    ///
    /// A module's own type takes precedence over an imported one: each instrumented module that
    /// uses `Mutex` has this file.
    ///
    /// `@unchecked Sendable`: `value` is touched with the lock held.
    package final class Mutex<Value: ~Copyable>: @unchecked Sendable {
        private var value: Value
        private let lock = NSLock()

        package init(_ value: consuming sending Value) { self.value = value }

        /// Runs `body` with the lock held.
        /// - Throws: what `body` throws.
        package func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        }
    }
#endif
