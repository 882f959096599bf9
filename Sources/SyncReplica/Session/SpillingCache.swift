import SyncStorage
import SyncValues

/// Lets changed pages leave the memory while a transaction is open: into the WAL. Not in the
/// rollback journal modes, where that keeps out readers (``MergeSession``).
///
/// SQLite changes how a cache spills between two transactions only: this begins before one, and
/// ends after it.
struct SpillingCache {
    /// The cache meanwhile: identities are random, so that a few thousand pages of their index are
    /// written repeatedly. With a smaller cache they are read from the WAL each time.
    static let kibibytes = 32_768

    private let connection: OpaquePointer
    /// The size of the cache before; nil: the database has no WAL.
    private let former: Int64?

    /// - Parameter connection: outside of a transaction.
    /// - Throws: SQLite errors.
    init(_ connection: OpaquePointer) throws {
        self.connection = connection
        guard try Self.isLogging(connection) else {
            former = nil
            return
        }
        let size = try Statement("PRAGMA cache_size", on: connection)
        let former = try size.step() ? size.integer(0) : 0
        size.reset()
        self.former = former
        try RawTransaction.execute(
            "PRAGMA cache_size = -\(Self.kibibytes); PRAGMA cache_spill = ON", on: connection)
    }

    /// Checks, in the transaction, that the database has its WAL still.
    /// - Throws: `busy` if not.
    func requireSameMode() throws {
        guard former != nil, try !Self.isLogging(connection) else { return }
        throw SyncError(.busy, "the journal mode was changed meanwhile", hint: "Try again")
    }

    /// Restores what was before the transaction.
    func end() {
        guard let former else { return }
        try? RawTransaction.execute(
            "PRAGMA cache_spill = OFF; PRAGMA cache_size = \(former)", on: connection)
    }

    private static func isLogging(_ connection: OpaquePointer) throws -> Bool {
        let mode = try Statement("PRAGMA journal_mode", on: connection)
        return try mode.step() && mode.text(0) == "wal"
    }
}
