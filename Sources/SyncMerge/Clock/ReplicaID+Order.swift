import SyncValues

extension ReplicaID: Comparable {
    /// By bytes: no order of meaning, but the same one everywhere.
    public static func < (left: ReplicaID, right: ReplicaID) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
