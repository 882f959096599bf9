import CSQLite
import Glibc
import SyncStorage
import SyncValues

extension Store {
    /// How long one stretch of work holds up the live connection; commits are read in between.
    private static let stretch: Duration = .milliseconds(20)
    /// How long to try again while writers hold the lock; then the query assembles the transaction
    /// in memory.
    private static let busyMax: Duration = .seconds(10)
    private static let busyPause: Duration = .milliseconds(5)

    /// Moves a transaction that is too large to be assembled in memory to the history tables, so
    /// that a query can read it in parts. Does nothing where there is none, or where this process
    /// may not write the store.
    ///
    /// - Throws: ``SyncError`` for a store that cannot be read.
    func digestLarge() throws {
        let clock = ContinuousClock()
        let deadline = clock.now + Self.busyMax
        while true {
            do {
                let end = clock.now + Self.stretch
                let isLeft = try live.withState { _, live in
                    try live.digestLarge(while: { clock.now < end })
                }
                guard isLeft else { return }
            } catch let error as SyncError where error.isTransient {
                guard clock.now < deadline else { return }
                usleep(UInt32(Self.busyPause / .microseconds(1)))
            } catch let error as SyncError
                where error.code == .readOnly || error.code == .notAllowed
            {
                return
            }
        }
    }

    /// Releases memory that a large transaction took and the caches still hold. Cheap where there
    /// is nothing to release.
    ///
    /// - Throws: ``SyncError`` when the connection is closed.
    public func releaseMemory() throws {
        try live.withOpenState { connection, _ in _ = sqlite3_db_release_memory(connection) }
        try reading.releaseMemory()
    }
}
