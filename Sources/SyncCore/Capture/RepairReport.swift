/// What a repair of the triggers found and did.
public struct RepairReport: Sendable, Hashable {
    /// What was wrong; a new table's entity is set when it is recorded from now on.
    public internal(set) var findings: [CaptureFinding]
    /// How many changes had been made unseen: they are one transaction flagged `recovered`.
    public internal(set) var recoveredCount: Int
}
