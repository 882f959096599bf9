import NIOPosix
import SyncClient
import SyncCore
import Varlink

/// What happens in a store, as lines of JSON for one open page: `{"transaction":…}` and the other
/// notices of the daemon, and `{"values":…}` a moment later.
///
/// Exists while somebody looks: the subscription ends with the connection. Values are read from the
/// file after the notice was sent, one transaction at a time; in a burst the older ones are left
/// out, and the page asks for what its reader opens.
struct PageEvents: Sendable {
    /// Transactions that wait for their values.
    private static let waitingMax = 20
    /// A line is written this often, so that a connection whose browser is gone is noticed.
    private static let lifePeriod: Duration = .seconds(20)

    let client: StoreClient
    let path: String
    let after: Token?

    /// - Throws: ``SyncError``, and errors of the connection.
    func run(writing write: @escaping HTTPReply.Write) async throws {
        let (transactions, waiting) = AsyncStream.makeStream(
            of: Transaction.self, bufferingPolicy: .bufferingNewest(Self.waitingMax))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await follow(for: waiting, writing: write) }
            group.addTask { try await fillIn(transactions, writing: write) }
            group.addTask {
                while true {
                    try await Task.sleep(for: Self.lifePeriod)
                    try await Self.line(["alive": true], write)
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func line(_ object: JSONObject, _ write: HTTPReply.Write) async throws {
        try await write(Array((object.description + "\n").utf8))
    }

    private func follow(
        for values: AsyncStream<Transaction>.Continuation, writing write: HTTPReply.Write
    ) async throws {
        defer { values.finish() }
        var options = SubscriptionOptions(after: after)
        options.joining = .none
        do {
            for try await notice in client.subscribe(path, options: options) {
                guard case .transaction(let transaction) = notice else {
                    try await write(notice.json + [UInt8(ascii: "\n")])
                    continue
                }
                guard transaction.part?.index ?? 0 == 0 else { continue }
                try await Self.line(["transaction": PageTransaction(transaction).json], write)
                values.yield(transaction)
            }
        } catch let error as SyncError {
            try await Self.line(
                [
                    "failure": .object([
                        "code": .string(error.code.name), "reason": .string(error.reason),
                        "hint": .text(error.hint),
                    ])
                ], write)
        }
    }

    /// Sends what the changes left in the rows. A file that this process may not read has none.
    private func fillIn(
        _ transactions: AsyncStream<Transaction>, writing write: HTTPReply.Write
    ) async throws {
        let path = path
        guard
            let store = try? await NIOThreadPool.singleton.runIfActive({
                try Store.open(path, isResolved: false, isMending: false)
            })
        else {
            for await _ in transactions {}
            return
        }
        defer { try? store.close() }
        for await transaction in transactions {
            let values = try await NIOThreadPool.singleton.runIfActive {
                PageValues.json(of: transaction, in: store)
            }
            try await Self.line(
                ["values": .object(values), "number": .integer(transaction.number)], write)
        }
    }
}
