/// What a repair of the triggers found and did.
public struct RepairReport: Sendable, Hashable {
    /// What was wrong; a new table's entity is set when it is recorded from now on.
    public package(set) var findings: [CaptureFinding]
    /// How many changes had been made unseen: they are one transaction flagged `recovered`.
    public package(set) var recoveredCount: Int
    /// The tables of which nothing, or not everything, was remembered to compare their rows with:
    /// what was written unseen there was not recorded, or not all of it.
    public package(set) var uncompared: [String] = []
    /// The tables of which only the presence of the rows was compared: a column was dropped.
    public package(set) var partlyCompared: [String] = []
    /// These tables as findings, for people.
    public var partlyComparedFindings: [CaptureFinding] {
        partlyCompared.map { CaptureFinding(entity: nil, table: $0, problem: .partlyCompared) }
    }
    /// The tables whose rows SQLite cannot read in this process, with the reason: they were not
    /// compared.
    public package(set) var unreadable: [String: String] = [:]
    /// These tables as findings, for people.
    public var unreadableFindings: [CaptureFinding] {
        unreadable.sorted { $0.key < $1.key }.map { table, reason in
            CaptureFinding(entity: nil, table: table, problem: .unreadable(reason))
        }
    }
    /// The tables were left to be compared with what was sent and merged
    /// (``StoreReplica/recordMissed()``); the next merge does it otherwise.
    public package(set) var isComparedWhenMerging = false
    /// Tables of the store that were missing, and were made again.
    public package(set) var missing: [String] = []
    /// Another program deleted rows of the log that history needs.
    public package(set) var isLogCut = false
    /// What is gone for good with tables that were dropped.
    public package(set) var losses: [StoreLoss] = []

    /// Rows were not compared, because the earlier fingerprints are lost.
    public package(set) var isIncomparable = false

    /// The file is another store than before, or another replica, which its remotes refuse.
    var isNewStore: Bool { losses.contains(.identity) || losses.contains(.replication) }

    /// What was wrong and what is lost, a sentence each.
    public var explanations: [String] {
        (missing.isEmpty
            ? [] : ["tables of the history were dropped: \(missing.joined(separator: ", "))"])
            + (isLogCut ? ["rows of the table syncd_log were deleted"] : [])
            + losses.map(\.explanation) + findings.map(\.explanation)
    }
}
