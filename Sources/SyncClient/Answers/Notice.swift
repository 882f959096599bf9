import SyncCore

/// An element of a subscription: a transaction, or an event of the store or of a held object.
public enum Notice: Sendable, Hashable {
    /// The first one: where the stream begins. A program that keeps this token, or that of a later
    /// transaction, resumes there after a restart.
    case began(Token)
    /// A transaction was committed.
    case transaction(Transaction)
    /// An object that the subscription holds was deleted.
    case gone(Gone)
    /// An object that the subscription holds changed.
    case changed(Changed)
    /// The key of an object that the subscription holds came back as another object.
    case replaced(Replaced)
    /// The subscriber's queue was full; what follows comes from history, and nothing is lost. The
    /// token is the last position that was sent.
    case lagged(Token)
    /// Another file, or an older state of this one, is at the path: read all objects again. The
    /// stream continues at the token.
    case storeReplaced(path: String, store: StoreID, token: Token)
    /// The file was removed: what open connections still write to it is lost. With a reason: it
    /// cannot be opened any more, as where a folder may no longer be searched; it is tried again.
    case storeRemoved(path: String, reason: String? = nil)
    /// The file is back, the same as before.
    case storeReturned(path: String, token: Token)
    /// Tables or columns changed.
    case schemaChanged(entities: [String])
    /// History before the token is gone.
    case historyPurged(Token)

    /// A held object that was deleted.
    public struct Gone: Sendable, Hashable {
        /// The deleted object.
        public let object: ObjectID
        /// The values kept of it.
        public let tombstone: NamedValues?
        /// Why it was deleted.
        public let cause: Change.Cause
        /// The transaction that did it; nil when it is not in history any more.
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
        /// The transaction that did it.
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
        /// The transaction that did it; nil when it is not in history any more.
        public let by: TransactionHead?

        /// Makes a notice.
        public init(object: ObjectID, by: TransactionHead?) {
            self.object = object
            self.by = by
        }
    }
}

extension Notice {
    /// Whether it is about what one transaction did to a held object.
    var isAboutHeldObject: Bool {
        switch self {
        case .gone, .changed, .replaced: true
        case .began, .transaction, .lagged, .storeReplaced, .storeRemoved, .storeReturned,
            .schemaChanged, .historyPurged:
            false
        }
    }
}
