import CSQLite
import Glibc
import SyncValues

/// Reads a database in a rollback journal mode without holding a lock, and finds out whether what
/// it read was one committed state.
///
/// A reader's SHARED lock, however short, refuses a writer that waits for no lock (a busy timeout
/// of 0, the default of SQLite in C and of its shell) when both meet. Here nothing is locked:
///
/// 1. The change counter of the file is read, then it is made sure that no writer has the RESERVED
///    lock and that no journal is there that is not finished.
/// 2. The transaction is read.
/// 3. The same is made sure again, then the counter is compared.
///
/// A writer has RESERVED before it writes the first page until after the last one, and each commit
/// changes the counter. A commit that was under way at step 1 had RESERVED, or was complete before
/// it was asked for. One that began later has RESERVED at step 3, or has changed the counter, or
/// left its journal. What remains is a transaction that was too large for its writer's memory and
/// was rolled back, all of it between the steps: fractions of a millisecond.
///
/// Confined to the connection's queue.
package final class UnlockedReading {
    private let connection: OpaquePointer
    private let locks: LockSwitch
    private let journal: String

    /// - Returns: nil where the connection has no file.
    package init?(_ connection: OpaquePointer) {
        guard let locks = LockSwitch(connection), let name = sqlite3_db_filename(connection, "main")
        else { return nil }
        self.connection = connection
        self.locks = locks
        journal = String(cString: name) + "-journal"
    }

    /// What ``read(_:)`` found.
    package enum Outcome<Result> {
        case read(Result)
        /// A writer was at work, or one died: what was read may be of no state, and is dropped.
        case disturbed
        /// The database is in WAL mode, where reading holds up no writer; nothing was read.
        case notNeeded
    }

    /// Runs `body` in a read transaction that takes no lock.
    ///
    /// - Throws: what `body` throws, where no writer was at work; `busy` when another process is
    ///   changing the journal mode.
    package func read<Result>(_ body: () throws -> Result) throws -> Outcome<Result> {
        try locks.turnOn()
        guard let before = header() else { return .disturbed }
        if before.isWal { return .notNeeded }
        guard !isWriting else { return .disturbed }
        locks.turnOff()
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try RawTransaction.read(on: connection, body))
        } catch {
            result = .failure(error)
        }
        let isUndisturbed = !isWriting && header() == before
        try locks.turnOn()
        guard isUndisturbed else {
            // Pages of no state must not be in the cache when the next transaction begins.
            sqlite3_db_release_memory(connection)
            return .disturbed
        }
        return .read(try result.get())
    }

    private struct Header: Equatable {
        let isWal: Bool
        let changeCounter: [UInt8]
    }

    /// Bytes 18 and 24 to 27: https://www.sqlite.org/fileformat2.html#the_database_header
    private func header() -> Header? {
        withUnsafeTemporaryAllocation(byteCount: 100, alignment: 8) { buffer in
            guard let file = SQLiteFile.database(connection), file.read(into: buffer, at: 0)
            else { return nil }
            return Header(isWal: buffer[18] == 2, changeCounter: Array(buffer[24..<28]))
        }
    }

    private var isWriting: Bool { locks.isReserved || hasUnfinishedJournal }

    /// A journal counts while it has bytes and the first is not zero: `PERSIST` zeroes the header,
    /// `TRUNCATE` leaves no byte (hasHotJournal() in SQLite's pager.c).
    private var hasUnfinishedJournal: Bool {
        let descriptor = open(journal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return errno != ENOENT }
        defer { close(descriptor) }
        var first: UInt8 = 0
        return pread(descriptor, &first, 1, 0) == 1 && first != 0
    }
}
