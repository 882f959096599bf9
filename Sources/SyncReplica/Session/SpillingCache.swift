import SyncStorage

/// A transaction that writes more pages than memory should hold.
enum SpillingCache {
    /// The page cache meanwhile: identities are random, and so are the pages of their index.
    private static let kibibytes = 32_768

    /// Runs `body`, in the transaction that the connection is in, so that changed pages leave the
    /// memory: not in the rollback journal modes, where that keeps out readers
    /// (``MergeSession``).
    /// - Throws: SQLite errors; what `body` throws.
    static func with<Result>(
        _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        let mode = try Statement("PRAGMA journal_mode", on: connection)
        let isLogging = try mode.step() && mode.text(0) == "wal"
        mode.reset()
        guard isLogging else { return try body() }
        let size = try Statement("PRAGMA cache_size", on: connection)
        let former = try size.step() ? size.integer(0) : 0
        size.reset()
        func set(_ size: Int64, isSpilling: Bool) throws {
            try RawTransaction.execute(
                "PRAGMA cache_size = \(size); PRAGMA cache_spill = \(isSpilling ? "ON" : "OFF")",
                on: connection)
        }
        try set(-Int64(kibibytes), isSpilling: true)
        defer { try? set(former, isSpilling: false) }
        return try body()
    }
}
