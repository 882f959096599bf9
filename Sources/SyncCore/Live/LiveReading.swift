import CSQLite
import SyncStorage
import SyncValues

/// How the live connection reads: as a good neighbour of writers that wait for no lock.
///
/// In WAL mode a reader holds up no writer. In the rollback modes it reads without a lock
/// (``UnlockedReading``), and what a writer disturbed is read again later. Only when that has gone
/// on for ``patience``, the lock is taken after all: a writer that is never quiet for half a
/// millisecond must not delay the notices without end, and one that died leaves a journal that only
/// a reader with locks may roll back. Shorter, and writers without a busy timeout are refused more
/// often; longer, and notices beside such a writer come later. Then, too, a lock that is not free
/// at once is not waited for: the caller's thread serves other stores.
///
/// Confined to the connection's queue.
final class LiveReading {
    static let patience = Duration.milliseconds(500)
    /// What a caller that cannot come again tries, about a millisecond apart, before the lock is
    /// taken.
    private static let attemptsMax = 5

    private let connection: OpaquePointer
    private let unlocked: UnlockedReading?
    private var disturbedSince: ContinuousClock.Instant?

    init(_ connection: OpaquePointer) {
        self.connection = connection
        unlocked = UnlockedReading(connection)
    }

    /// Runs `body` in a read transaction.
    ///
    /// - Parameters:
    ///   - isWal: the store was in WAL mode at the last read.
    ///   - isRepeated: the caller comes again after `busy`.
    ///   - drop: called when what `body` read is of no state: takes back what it noted.
    /// - Throws: `busy`; what `body` throws.
    func read<Result>(
        isWal: Bool, isRepeated: Bool, dropping drop: () -> Void, _ body: () throws -> Result
    ) throws -> Result {
        guard !isWal, let unlocked else { return try RawTransaction.read(on: connection, body) }
        for attempt in 1... {
            switch try unlocked.read(body) {
            case .read(let result):
                disturbedSince = nil
                return result
            case .notNeeded:
                disturbedSince = nil
                return try RawTransaction.read(on: connection, body)
            case .disturbed: drop()
            }
            let since = disturbedSince ?? .now
            disturbedSince = since
            if since.duration(to: .now) >= Self.patience { break }
            if isRepeated {
                throw SyncError(
                    .busy, "a writer is at work", hint: "Try again in a moment")
            }
            if attempt == Self.attemptsMax { break }
            sqlite3_sleep(1)
        }
        return try readLocked(isRepeated: isRepeated, body)
    }

    private func readLocked<Result>(
        isRepeated: Bool, _ body: () throws -> Result
    ) throws -> Result {
        let result =
            isRepeated
            ? try DatabaseOpener.withoutWaiting(on: connection) {
                try RawTransaction.read(on: connection, body)
            } : try RawTransaction.read(on: connection, body)
        disturbedSince = nil
        return result
    }
}
