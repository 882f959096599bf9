import Foundation
import SyncClient
import SyncReplica

/// A store through its file, in this process, without the daemon.
struct FileAccess: StoreAccess {
    /// Why the daemon is not used.
    enum Reason {
        /// The user asked for it with `--direct`.
        case requested
        /// No daemon answers.
        case noDaemon
        /// A daemon may run, but its socket is not for this user.
        case daemonNotPermitted
        /// A daemon answers, but it does not have the store.
        case unknownToDaemon
        /// A daemon has the store, and may not reach or read the file: this user may.
        case notServed(SyncError)
    }

    /// The path as the user typed it.
    let path: String
    let reason: Reason

    private var absolute: String { StorePath.absolute(path) }

    private func withStore<Result>(_ body: (Store) throws -> Result) throws -> Result {
        try LocalStore.with(path, body)
    }

    func track(_ choice: CaptureChoice) async throws -> (
        tables: [TableSummary], repaired: [String]
    ) {
        let report = try Store.track(absolute, choosing: choice)
        try StoreReplica.showWaiting(at: absolute)
        return (
            report.entries.map { TableSummary($0, of: report) }, report.repair?.explanations ?? []
        )
    }

    func untrack() async throws -> [String] { try Store.untrack(absolute).leftAlone }

    func status() async throws -> StatusReport {
        try LocalStore.checking(path) { store in
            let verification = try Self.verify(store, at: path)
            let status = try store.status()
            let summary = StoreSummary(
                path: absolute, state: .open, id: status.store, replica: status.replica,
                head: status.head, subscribers: 0, error: nil)
            var report = StoreReport(
                store: summary, pending: status.logRows, databaseBytes: status.fileBytes,
                walBytes: Self.size(of: absolute + "-wal"), entities: verification.tables,
                consumers: status.consumers,
                findings: try verification.findings + store.exchangeFindings())
            report.compared = try store.lastComparison()
            report.remotes = try store.remotes().map { entry in
                RemoteStatus(
                    name: entry.name, url: entry.shownURL, state: .idle, lastSync: nil,
                    behindSince: nil, error: nil)
            }
            return StatusReport(directReason: reason, report: report)
        }
    }

    private static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    func verify() async throws -> Verification {
        try LocalStore.checking(path) { try Self.verify($0, at: path) }
    }

    private static func verify(_ store: Store, at path: String) throws -> Verification {
        let found = try store.verifyCapture() + store.unreadableTables()
        let findings = found.map(\.explanation)
        let tables = try store.status().entities.map {
            TableSummary(name: $0, outcome: "tracked")
        }
        return Verification(tables: tables, findings: findings + LocalStore.gaps(of: store))
    }

    func forEachTransaction(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Void
    ) async throws {
        try withStore { store in
            try store.forEachTransaction(matching: query, inParts: .message) {
                try body($0)
                return true
            }
        }
    }

    func count(_ query: HistoryQuery) async throws -> (
        transactions: Int, changes: Int, pending: Int64
    ) {
        try withStore { store in
            let found = try store.count(query)
            return (found.transactions, found.changes, store.unsettled?.count ?? 0)
        }
    }

    func pending() async throws -> [PendingChanges] { try withStore { try $0.pendingChanges() } }

    func watch(
        _ choice: WatchChoice, onNotice body: @Sendable (Notice) throws -> Bool
    ) async throws {
        guard choice.held.isEmpty else {
            throw SyncError(
                .invalidArgument, "--hold needs the daemon" + cause, operation: "watch",
                path: absolute, hint: remedy)
        }
        try await FileWatch(path: absolute, choice: choice).run(body)
    }

    private var cause: String {
        switch reason {
        case .requested: return ""
        case .noDaemon: return ", which is not running"
        case .daemonNotPermitted: return ", and permission to connect to it is denied"
        case .unknownToDaemon: return ", which does not have this store"
        case .notServed(let error): return "; \(error.reason)"
        }
    }

    private var remedy: String {
        switch reason {
        case .requested: return "Leave out --direct"
        case .noDaemon: return "Start it: systemctl start syncd; or for yourself: syncd --user"
        case .daemonNotPermitted:
            return "Join the group of its socket: sudo usermod -aG syncd NAME; or run: syncd --user"
        case .unknownToDaemon: return "Add the store to it: synctool track DB"
        case .notServed(let error): return error.hint ?? ""
        }
    }

    func consumers() async throws -> [Consumer] {
        try LocalStore.checking(path) { try $0.consumers() }
    }

    func register(consumer: String, kind: Consumer.Kind, lease: Duration?) async throws {
        try withStore { _ = try $0.register(consumer: consumer, kind: kind, lease: lease) }
    }

    func acknowledge(consumer: String, _ token: Token) async throws {
        try withStore { store in
            try store.acknowledge(consumer: consumer, token)
            try store.flush()
        }
    }

    func remove(consumer: String) async throws {
        try withStore { try $0.remove(consumer: consumer) }
    }

    func purge(before: Token?, force: Bool) async throws -> PurgeResult {
        try withStore { store in
            let report = try store.purge(before: before, force: force)
            return PurgeResult(transactions: report.transactions, changes: report.changes)
        }
    }
}
