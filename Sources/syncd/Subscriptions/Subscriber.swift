import SyncClient
import SyncCore
import Varlink

/// One subscription as its client asked for it. Immutable: what changes is its entry in ``FanOut``.
final class Subscriber: Sendable {
    /// The name for `Hold` and `Release`: hard to guess, so that a client finds only its own.
    let name: String
    let stream: ReplyStream
    /// Which transactions and changes; without positions and limit.
    let query: HistoryQuery
    let heldOnly: Bool
    /// Transactions that this process marked as its own are left out.
    let excludedPid: Int64?
    /// False: notices only.
    let wantsTransactions: Bool

    /// - Parameter worker: whose worker this process is: the name says so.
    init(_ options: SubscriptionOptions, stream: ReplyStream, worker: UInt32? = nil) {
        let random = String(UInt64.random(in: 0 ... .max), radix: 36)
        name = worker.map { "\($0).\(random)" } ?? random
        self.stream = stream
        query = options.filter
        heldOnly = options.heldOnly
        excludedPid = options.excludesOwn ? Int64(stream.peer.pid) : nil
        wantsTransactions = options.transactions
    }

    /// The owner whose worker has a subscription of this name; nil: the daemon itself.
    static func worker(inName name: String) -> UInt32? {
        name.firstIndex(of: ".").flatMap { UInt32(name[..<$0]) }
    }

    func excludes(_ transaction: Transaction) -> Bool {
        guard let excludedPid, let process = transaction.process else { return false }
        return process.pid == excludedPid
    }
}
