/// What a repair of the triggers found and did.
public struct RepairReport: Sendable, Hashable {
    /// What was wrong; a new table's entity is set when it is recorded from now on.
    public internal(set) var findings: [CaptureFinding]
    /// How many changes had been made unseen: they are one transaction flagged `recovered`.
    public internal(set) var recoveredCount: Int
    /// The tables of which nothing, or not everything, was remembered to compare their rows with:
    /// what was written unseen there was not recorded, or not all of it.
    public internal(set) var uncompared: [String] = []
    /// The tables were left to be compared with what was sent and merged
    /// (``StoreReplica/recordMissed()``); the next merge does it otherwise.
    public internal(set) var isComparedWhenMerging = false
}
