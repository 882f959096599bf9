/// What is wrong when others have transactions in a replica's name that it does not have.
struct ForeignTransactions: Sendable, Hashable {
    let replica: ReplicaID
    /// The number of one of them.
    let number: Int64
    /// Who made the batch.
    let sender: ReplicaID
    /// The batch at the remote, where it is known.
    var name: String?

    var error: SyncError {
        let batch = name.map { "the batch \($0.printable(countMax: 120))" } ?? "a batch"
        return SyncError(
            .refused,
            "\(batch), written by replica \(sender), has transaction \(number) of this replica "
                + "(\(replica)), which this file does not have: it was restored from a backup, or "
                + "somebody writes in its name. Nothing of it was merged, nothing was sent",
            hint:
                "If the file was restored, run synctool doctor --renew-identity DB and sync again. "
                + "If not, find out who may write to the remote")
    }
}
