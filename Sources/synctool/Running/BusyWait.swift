import SyncCore

/// Repeats what failed because other processes hold the database: a daemon that exchanges the store
/// with a remote at the moment, for one.
///
/// SQLite itself waits for a lock for ``DatabaseOpener/busyTimeout``. A merge takes the lock slice
/// by slice, and what is behind it may get none of the turns for longer than that. Only for what
/// changes nothing when it fails, or goes on where it was.
enum BusyWait {
    /// How often it is tried.
    private static let pause: Duration = .milliseconds(100)

    /// - Parameters:
    ///   - limit: after this the error is thrown.
    ///   - isRepeatable: whether it may be done again.
    /// - Throws: what `body` throws; `busy` when the time is over.
    static func repeating<Result>(
        atMost limit: Duration, pause: Duration = BusyWait.pause,
        while isRepeatable: () -> Bool = { true }, _ body: () async throws -> Result
    ) async throws -> Result {
        let end = ContinuousClock.now + limit
        while true {
            do {
                return try await body()
            } catch let error as SyncError
                where error.code == .busy && isRepeatable() && ContinuousClock.now < end
            {
                try await Task.sleep(for: pause)
            }
        }
    }
}
