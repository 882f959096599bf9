import SyncClient
import SyncCore

/// The client of the tour: subscribes to the store in this process and keeps its notices.
///
/// Invariants: `received` only grows; `shown` is the number of notices returned so far.
actor TourClient {
    private var received: [Notice] = []
    private var shown = 0
    private var failure: (any Error)?
    private var task: Task<Void, Never>?

    /// Subscribes, and waits until the stream has begun.
    func start(socket: String, store: String, holding: [ObjectName]) async throws {
        var options = SubscriptionOptions()
        options.hold = Set(holding)
        let subscription = StoreClient(socket: socket).subscribe(store, options: options)
        task = Task {
            do {
                for try await notice in subscription { self.take(notice) }
            } catch {
                self.fail(error)
            }
        }
        _ = try await next(until: { if case .began = $0 { true } else { false } })
    }

    private func take(_ notice: Notice) { received.append(notice) }
    private func fail(_ error: any Error) { failure = error }

    /// The notices since the last call, up to the first one that is `wanted`.
    ///
    /// - Throws: what ended the stream; ``SyncError`` `internalFault` when nothing comes for 20 s.
    func next(until wanted: @Sendable (Notice) -> Bool) async throws -> [Notice] {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if let failure { throw failure }
            if let found = received[shown...].firstIndex(where: wanted) {
                defer { shown = found + 1 }
                return Array(received[shown...found])
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw SyncError(
            .internalFault, "a notice did not arrive within 20 seconds", operation: "demo",
            hint: "Please report it with the output of: synctool doctor")
    }

    /// All transactions that it received.
    var transactions: [Transaction] {
        received.compactMap {
            if case .transaction(let transaction) = $0 { transaction } else { nil }
        }
    }

    func stop() { task?.cancel() }
}
