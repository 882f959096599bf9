import SyncCore

/// A transaction without its changes.
public struct TransactionHead: Sendable, Hashable {
    /// The position just after the transaction; its number is the transaction's.
    public let token: Token
    /// Wall time, by the writer's clock.
    public let timestamp: Timestamp
    /// Its author; nil: unknown.
    public let author: String?
    /// The part of the program that wrote it; nil: unknown.
    public let context: String?
    /// The process that wrote it; nil: unknown.
    public let process: Transaction.Process?
    /// The replica that wrote it first; nil for this one.
    public let origin: ReplicaID?

    /// The head of a transaction.
    public init(_ transaction: Transaction) {
        self.init(
            token: transaction.token, timestamp: transaction.timestamp,
            author: transaction.author, context: transaction.context,
            process: transaction.process, origin: transaction.origin?.replica)
    }

    init(
        token: Token, timestamp: Timestamp, author: String?, context: String?,
        process: Transaction.Process?, origin: ReplicaID?
    ) {
        self.token = token
        self.timestamp = timestamp
        self.author = author
        self.context = context
        self.process = process
        self.origin = origin
    }
}
