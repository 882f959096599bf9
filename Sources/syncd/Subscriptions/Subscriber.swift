import SyncClient
import SyncCore
import Varlink

/// One subscription as its client asked for it. Immutable: what changes is its entry in ``FanOut``.
final class Subscriber: Sendable {
    /// What `Hold` and `Release` name it by: hard to guess, so that a client finds only its own.
    let name: String
    let stream: ReplyStream
    /// Which transactions and changes; without positions and limit.
    let query: HistoryQuery
    let heldOnly: Bool
    /// Transactions that this process marked as its own are left out.
    let excludedPid: Int64?
    /// False: notices only.
    let wantsTransactions: Bool

    init(_ stream: ReplyStream, _ options: SubscriptionOptions) {
        name = String(UInt64.random(in: 0 ... .max), radix: 36)
        self.stream = stream
        query = options.filter
        heldOnly = options.heldOnly
        excludedPid = options.excludesOwn ? Int64(stream.peer.pid) : nil
        wantsTransactions = options.transactions
    }

    func excludes(_ transaction: Transaction) -> Bool {
        guard let excludedPid, let process = transaction.process else { return false }
        return process.pid == excludedPid
    }
}

/// The name of an object as holds compare it: entities without regard to ASCII case, as SQLite
/// does.
struct HeldName: Hashable {
    let entity: String
    let key: ObjectKey

    init(_ name: HistoryQuery.ObjectName) {
        entity = Self.folded(name.entity)
        key = name.key
    }

    init(_ object: ObjectID) {
        entity = Self.folded(object.entity)
        key = object.key
    }

    private static func folded(_ name: String) -> String {
        let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard name.utf8.contains(where: upper.contains) else { return name }
        return String(
            decoding: name.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
