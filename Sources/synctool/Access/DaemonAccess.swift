import SyncClient
import SyncCore

/// A store through the daemon.
struct DaemonAccess: StoreAccess {
    let client: StoreClient
    /// The absolute path.
    let path: String

    func track(_ choice: CaptureChoice) async throws -> (
        tables: [TableSummary], repaired: [String]
    ) {
        let answer = try await client.track(
            path, entities: choice.entities, undo: choice.undo, keepsValues: choice.keepsValues)
        return (answer.tables, answer.repaired)
    }

    func untrack() async throws -> [String] { try await client.untrack(path) }

    func status() async throws -> StatusReport {
        StatusReport(directReason: nil, report: try await client.status(path))
    }

    func verify() async throws -> Verification {
        let (tables, findings) = try await client.verify(path)
        return Verification(tables: tables, findings: findings)
    }

    func forEachTransaction(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Void
    ) async throws {
        try await client.forEachTransaction(path, matching: query, joining: .none) {
            try body($0)
            return true
        }
        try await sayGaps()
    }

    func count(_ query: HistoryQuery) async throws -> (
        transactions: Int, changes: Int, pending: Int64
    ) {
        let (transactions, changes) = try await client.count(path, matching: query)
        try await sayGaps()
        return (transactions, changes, 0)
    }

    /// The daemon records what it reads: nothing is left.
    func pending() async throws -> [PendingChanges] {
        try await sayGaps()
        return []
    }

    /// Says on standard error what the history does not have, as ``LocalStore/with(_:_:)`` does.
    /// The daemon repairs what it can by itself.
    private func sayGaps() async throws {
        for gap in try await client.unrecorded(path) {
            try Terminal.error.line(
                "\(path): not all is in the history: \(TypedPath(path).fillingIn(gap))")
        }
    }

    func watch(
        _ choice: WatchChoice, onNotice body: @Sendable (Notice) throws -> Bool
    ) async throws {
        var options = SubscriptionOptions(after: choice.after)
        options.filter = choice.filter
        options.hold = Set(choice.held)
        options.joining = .none
        for try await notice in client.subscribe(path, options: options) {
            guard try body(notice) else { return }
        }
    }

    func consumers() async throws -> [Consumer] { try await client.consumers(path) }

    func register(consumer: String, kind: Consumer.Kind, lease: Duration?) async throws {
        try await client.register(path, consumer: consumer, kind: kind, lease: lease)
    }

    func acknowledge(consumer: String, _ token: Token) async throws {
        try await client.acknowledge(path, consumer: consumer, upTo: token)
    }

    func remove(consumer: String) async throws { try await client.remove(path, consumer: consumer) }

    func purge(before: Token?, force: Bool) async throws -> PurgeResult {
        let (transactions, changes) = try await client.purge(path, before: before, force: force)
        return PurgeResult(transactions: transactions, changes: changes)
    }
}
