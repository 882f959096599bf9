import SyncClient
import SyncCore

/// One store as the commands use it: through the daemon, or on the file itself. Both ways answer
/// alike; a command does not know which one it has.
protocol StoreAccess: Sendable {
    /// Tracks the database, and says for each table what was done.
    ///
    /// - Returns: also what was repaired first, because tables of the store had been dropped.
    func track(_ choice: CaptureChoice) async throws -> (
        tables: [TableSummary], repaired: [String]
    )
    /// Removes every trace of capture and history.
    func untrack() async throws -> [String]
    func status() async throws -> StatusReport
    /// Triggers and schema compared with what capture installed.
    func verify() async throws -> Verification
    func forEachTransaction(
        _ query: HistoryQuery, _ body: (Transaction) throws -> Void) async throws
    func count(_ query: HistoryQuery) async throws -> (transactions: Int, changes: Int)
    /// Calls `body` for each notice, `began` first, until it returns false; ends with an error
    /// otherwise.
    func watch(_ choice: WatchChoice, _ body: @Sendable (Notice) throws -> Bool) async throws
    func consumers() async throws -> [Consumer]
    func register(consumer: String, kind: Consumer.Kind, lease: Duration?) async throws
    func acknowledge(consumer: String, _ token: Token) async throws
    func remove(consumer: String) async throws
    /// Deletes history strictly before a token; nil: all that no live consumer needs.
    func purge(before: Token?, force: Bool) async throws -> PurgeResult
}

/// What to watch of a store.
struct WatchChoice: Sendable {
    var after: Token?
    /// `entities`, `kinds`, `properties`, `authors` and `excludedAuthors` count.
    var filter = HistoryQuery()
    var held: [HistoryQuery.ObjectName] = []
}

/// How many transactions and changes a purge took away.
struct PurgeResult: Sendable {
    let transactions: Int
    let changes: Int
}
