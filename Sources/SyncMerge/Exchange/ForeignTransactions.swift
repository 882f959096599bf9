import SyncValues

/// The fault that others have transactions under a replica's identity which the replica does not
/// have.
package struct ForeignTransactions: Sendable, Hashable {
    /// The replica.
    package let replica: ReplicaID
    /// The number of one of them.
    package let number: Int64
    /// The replica that made the batch.
    package let sender: ReplicaID
    /// The batch at the remote, where it is known.
    package var name: String?

    /// Describes what was found.
    package init(replica: ReplicaID, number: Int64, sender: ReplicaID, name: String? = nil) {
        self.replica = replica
        self.number = number
        self.sender = sender
        self.name = name
    }

    /// The error to throw: `refused`.
    package var error: SyncError {
        let batch = name.map { "the batch \($0.printable(countMax: 120))" } ?? "a batch"
        return SyncError(
            .refused,
            "\(batch), written by replica \(sender), has transaction \(number) of this replica "
                + "(\(replica)), which this file does not have: it was restored from a backup, or "
                + "another program writes under its identity. Nothing was merged or sent",
            hint:
                "If the file was restored, run synctool doctor --renew-identity DB and sync again. "
                + "If not, check which users may write to the remote")
    }
}
