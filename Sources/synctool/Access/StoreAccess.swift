import SyncClient
import SyncCore

/// One store as the commands use it: through the daemon, or through the file itself. Both give the
/// same results.
protocol StoreAccess: Sendable {
    /// Tracks the database.
    ///
    /// - Returns: the outcome for each table, and the repairs that were made first because tables
    ///   of the store had been dropped.
    func track(_ choice: CaptureChoice) async throws -> (
        tables: [TableSummary], repaired: [String]
    )
    /// Removes capture and history from the file.
    ///
    /// - Returns: objects named `syncd_…` that were left because syncd did not create them.
    func untrack() async throws -> [String]
    func status() async throws -> StatusReport
    /// Compares triggers and schema with what capture installed.
    func verify() async throws -> Verification
    /// Large transactions come in parts.
    func forEachTransaction(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Void) async throws
    /// - Returns: what was found, and the number of rows that are not in the history yet.
    func count(_ query: HistoryQuery) async throws -> (
        transactions: Int, changes: Int, pending: Int64
    )
    /// Committed changes that are not in the history yet: without numbers.
    func pending() async throws -> [PendingChanges]
    /// Calls `body` for each notice, `began` first, until it returns false. Any other end is an
    /// error. Large transactions come in parts.
    func watch(_ choice: WatchChoice, onNotice body: @Sendable (Notice) throws -> Bool) async throws
    func consumers() async throws -> [Consumer]
    func register(consumer: String, kind: Consumer.Kind, lease: Duration?) async throws
    func acknowledge(consumer: String, _ token: Token) async throws
    func remove(consumer: String) async throws
    /// Deletes the history strictly before a token; nil: everything that no live consumer needs.
    func purge(before: Token?, force: Bool) async throws -> PurgeResult
}
