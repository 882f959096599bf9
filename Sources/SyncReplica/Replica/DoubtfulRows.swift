import SyncValues

/// Rows that the snapshot of a member leaves out, and that are shown until the others confirm it.
public struct DoubtfulRows: Sendable, Hashable {
    /// How many objects.
    public let count: Int
    /// The members that have not sent a snapshot since.
    public let awaited: Set<ReplicaID>

    /// What is told, as a sentence; nil: there are none.
    public var problem: String? {
        guard count > 0 else { return nil }
        let names = awaited.map(\.description).sorted().joined(separator: ", ")
        return "\(count) rows are missing in the snapshot of one replica. They are kept until "
            + "replica \(names) has sent a snapshot, too; if it is gone for good run here: "
            + "synctool remote members DB --remove REPLICA"
    }
}
