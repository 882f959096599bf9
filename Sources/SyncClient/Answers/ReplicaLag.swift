import SyncCore

/// What another replica of a store is known to lack.
public struct ReplicaLag: Sendable, Hashable {
    /// The replica.
    public let replica: ReplicaID
    /// Its name for people; nil when it is not known here.
    public let name: String?
    /// How many transactions that are here it has not acknowledged.
    public let behind: Int64
    /// Since when it has lacked something and acknowledged nothing new; nil: it has everything.
    public let behindSince: Timestamp?
    /// It has been away for so long that nothing waits for it any more.
    public let isAbsent: Bool

    /// Makes a lag.
    public init(
        replica: ReplicaID, name: String?, behind: Int64, behindSince: Timestamp?, isAbsent: Bool
    ) {
        self.replica = replica
        self.name = name
        self.behind = behind
        self.behindSince = behindSince
        self.isAbsent = isAbsent
    }
}
