import SyncValues

/// What one commit did.
public struct Transaction: Sendable, Hashable {
    /// What is special about a transaction.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits, as `syncd_transaction.flags` has them.
        public let rawValue: Int

        /// Flags of stored bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Several commits that could no longer be told apart. Never a part of one.
        public static let coalesced = Flags(rawValue: 1)
        /// Found by comparing with the last known state, because triggers were missing.
        public static let recovered = Flags(rawValue: 2)
        /// Merged from another replica.
        public static let remote = Flags(rawValue: 4)
        /// What merging changed beyond the merged transactions.
        public static let repair = Flags(rawValue: 8)
        /// Its author signed a part of it; other rows may be of others. Filters take the author for
        /// unknown.
        public static let authorUncertain = Flags(rawValue: 16)
        /// A replica gave other numbers to rows whose numbers other rows had claimed earlier.
        public static let renumbered = Flags(rawValue: 32)

        /// The names of the flags, as in JSON.
        public var names: [String] {
            let all: [(Flags, String)] = [
                (.coalesced, "coalesced"), (.recovered, "recovered"), (.remote, "remote"),
                (.repair, "repair"), (.authorUncertain, "authorUncertain"),
                (.renumbered, "renumbered"),
            ]
            return all.filter { contains($0.0) }.map(\.1)
        }
    }

    /// Where a transaction was written first.
    public struct Origin: Sendable, Hashable {
        /// The replica.
        public let replica: ReplicaID
        /// Its number there.
        public let number: Int64
        /// Its time there.
        public let time: Timestamp

        /// Makes an origin.
        public init(replica: ReplicaID, number: Int64, time: Timestamp) {
            self.replica = replica
            self.number = number
            self.time = time
        }
    }

    /// The process that wrote a transaction, as far as it is known.
    public struct Process: Sendable, Hashable {
        /// The process id at the time.
        public let pid: Int64
        /// The program's name, where the writer gave it or the daemon could find it.
        public let name: String?

        /// Makes a process.
        public init(pid: Int64, name: String?) {
            self.pid = pid
            self.name = name
        }
    }

    /// A slice of the changes of a transaction that is too large for one piece of memory or for
    /// one message. All slices have the same token and the same head.
    public struct Part: Sendable, Hashable {
        /// Counts from 0 in the order of the changes.
        public let index: Int
        /// No part follows.
        public let isLast: Bool

        /// Makes a part's place in its transaction.
        public init(index: Int, isLast: Bool) {
            self.index = index
            self.isLast = isLast
        }
    }

    /// The position just after this transaction.
    public let token: Token
    /// The first log row that belongs to it.
    public let first: Int64
    /// Wall time of its last statement, by the writer's clock.
    public let timestamp: Timestamp
    /// The author; nil: unknown.
    public let author: String?
    /// The part of the program that wrote it; nil: unknown.
    public let context: String?
    /// The process that wrote it; nil: unknown.
    public let process: Process?
    /// Nil for this replica's own transactions.
    public let origin: Origin?
    /// What is special about it.
    public let flags: Flags
    /// Its changes, by ascending ``Change/seq``; with a filter, those that match.
    public var changes: [Change]
    /// Which part of the transaction ``changes`` is; nil: all of it. A reader has processed the
    /// transaction, and may continue after its token, only when it has the last part.
    public var part: Part?

    /// Makes a transaction: for decoders.
    public init(
        token: Token, first: Int64, timestamp: Timestamp, author: String?, context: String?,
        process: Process?, origin: Origin?, flags: Flags, changes: [Change], part: Part? = nil
    ) {
        self.token = token
        self.first = first
        self.timestamp = timestamp
        self.author = author
        self.context = context
        self.process = process
        self.origin = origin
        self.flags = flags
        self.changes = changes
        self.part = part
    }

    /// The author, if all of the transaction is known to be theirs; nil: unknown.
    public var certainAuthor: String? { flags.contains(.authorUncertain) ? nil : author }

    /// Its number: that of its last log row. Numbers ascend, have gaps, and are never used twice.
    public var number: Int64 { token.number }

    /// The changes end here: it is whole, or the last part.
    public var isComplete: Bool { part?.isLast ?? true }
}
