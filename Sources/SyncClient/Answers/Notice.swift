import SyncCore

/// What a subscription tells.
public enum Notice: Sendable, Hashable {
    /// The first one: where the stream begins. A program that keeps this token, or that of a later
    /// transaction, goes on from there after a restart.
    case began(Token)
    /// Something was committed.
    case transaction(Transaction)
    /// An object that the subscription holds was deleted.
    case gone(Gone)
    /// An object that the subscription holds changed.
    case changed(Changed)
    /// The key of an object that the subscription holds came back as another object.
    case replaced(Replaced)
    /// The reader was slower than its queue; what follows comes from history, and nothing is lost.
    /// The token is the last position that was sent.
    case lagged(Token)
    /// Another file, or an older state of this one, is at the path: read the present objects anew.
    /// The stream goes on at the token.
    case storeReplaced(path: String, store: StoreID, token: Token)
    /// The file is gone. Open connections to it write to nobody.
    case storeRemoved(path: String)
    /// The file is back, the same as before.
    case storeReturned(path: String, token: Token)
    /// Tables or columns changed.
    case schemaChanged(entities: [String])
    /// History before the token is gone.
    case historyPurged(Token)

    /// A held object that was deleted.
    public struct Gone: Sendable, Hashable {
        /// The object that is no more.
        public let object: ObjectID
        /// The values kept of it.
        public let tombstone: NamedValues?
        /// Why it was deleted.
        public let cause: Change.Cause
        /// Who did it; nil when that is not in history any more.
        public let by: TransactionHead?

        /// Makes a notice.
        public init(
            object: ObjectID, tombstone: NamedValues?, cause: Change.Cause, by: TransactionHead?
        ) {
            self.object = object
            self.tombstone = tombstone
            self.cause = cause
            self.by = by
        }
    }

    /// A held object that was updated.
    public struct Changed: Sendable, Hashable {
        /// The object.
        public let object: ObjectID
        /// The properties that changed, in column order.
        public let properties: [String]
        /// Their values before, where they are kept.
        public let oldValues: NamedValues?
        /// Who did it.
        public let by: TransactionHead

        /// Makes a notice.
        public init(
            object: ObjectID, properties: [String], oldValues: NamedValues?, by: TransactionHead
        ) {
            self.object = object
            self.properties = properties
            self.oldValues = oldValues
            self.by = by
        }
    }

    /// The key of a held object came back.
    public struct Replaced: Sendable, Hashable {
        /// The new object: equal entity and key, another incarnation.
        public let object: ObjectID
        /// Who did it; nil when that is not in history any more.
        public let by: TransactionHead?

        /// Makes a notice.
        public init(object: ObjectID, by: TransactionHead?) {
            self.object = object
            self.by = by
        }
    }
}

/// Which transaction did it: a transaction without its changes.
public struct TransactionHead: Sendable, Hashable {
    /// The position just after the transaction; its number is the transaction's.
    public let token: Token
    /// Wall time, by the writer's clock.
    public let timestamp: Timestamp
    /// Who wrote it; nil when nobody said.
    public let author: String?
    /// The part of the program that wrote it; nil when nobody said.
    public let context: String?
    /// The process that wrote it; nil when nobody said.
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
