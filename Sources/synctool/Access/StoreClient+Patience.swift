import SyncClient
import SyncCore

/// What monitoring runs must not wait for a daemon that hangs: that is an answer, too.
extension StoreClient {
    /// How long the daemon may take to say how it is: with a thousand stores on a loaded machine it
    /// takes some seconds.
    static let answerMax = Duration.seconds(15)

    /// As `overview()`.
    ///
    /// - Throws: ``SyncError``: `unreachable` also when there was no answer in time.
    func overview(within limit: Duration) async throws -> DaemonOverview {
        try await answering(within: limit) { try await self.overview() }
    }

    /// As `list()`.
    ///
    /// - Throws: ``SyncError``: `unreachable` also when there was no answer in time.
    func list(within limit: Duration) async throws -> [StoreSummary] {
        try await answering(within: limit) { try await self.list() }
    }

    /// As `configuration()`.
    ///
    /// - Throws: ``SyncError``: `unreachable` also when there was no answer in time.
    func configuration(within limit: Duration) async throws -> [Setting] {
        try await answering(within: limit) { try await self.configuration() }
    }

    /// - Returns: nil when there was no answer in time.
    func answer<Result: Sendable>(
        within limit: Duration, _ call: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask(operation: call)
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// The error where there was no answer in time.
    ///
    /// - Parameter alternative: what can be done without the daemon.
    func silence(after limit: Duration, alternative: String = "") -> SyncError {
        SyncError(
            .unreachable,
            "the daemon at \(socket) did not answer within \(limit.components.seconds) s",
            hint: "Look at it: systemctl status syncd; journalctl -u syncd\(alternative)")
    }

    private func answering<Result: Sendable>(
        within limit: Duration, _ call: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let answer = try await answer(within: limit, call) else {
            throw silence(after: limit)
        }
        return answer
    }
}
