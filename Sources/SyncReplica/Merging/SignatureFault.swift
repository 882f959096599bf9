import SyncMerge
import SyncValues

/// The errors of batches whose transactions are not proved. The batch is passed over, and the
/// others are merged.
enum SignatureFault {
    /// Transactions of a replica with a known key, without a signature.
    static func notSigned(_ replica: ReplicaID, sender: ReplicaID) -> SyncError {
        SyncError(
            .notSigned,
            "it has transactions of replica \(replica) that are not signed by it, whose key is "
                + "known; it was sent by replica \(sender)",
            hint: "Remove the file, or ask who wrote it. If replica \(sender) does not sign yet, "
                + "run there: synctool upgrade DB")
    }

    /// Another key than the first one.
    static func otherKey(of replica: ReplicaID, sender: ReplicaID) -> SyncError {
        SyncError(
            .notSigned,
            "it is signed with another key of replica \(replica) than the one that is known; it "
                + "was sent by replica \(sender)",
            hint: "Remove the file, or ask who wrote it")
    }

    /// A proof that proves nothing.
    static func broken(_ replica: ReplicaID, sender: ReplicaID) -> SyncError {
        SyncError(
            .badData,
            "the transactions of replica \(replica) in it are not those that the replica has "
                + "signed; it was sent by replica \(sender)")
    }

    /// Two signed histories of one replica.
    static func forked(_ replica: ReplicaID, sender: ReplicaID) -> SyncError {
        SyncError(
            .forked,
            "replica \(replica) has signed other transactions than those that are here, under the "
                + "same numbers; the batch was sent by replica \(sender)",
            hint: "Its file was restored from a backup, or copied: run there "
                + "synctool doctor --renew-identity DB")
    }

    /// A sender that was removed.
    static func notMember(_ replica: ReplicaID) -> SyncError {
        SyncError(
            .notMember, "replica \(replica), which sent it, was removed from the members",
            hint: "To accept it again run: synctool remote members DB --admit \(replica)")
    }

    /// A sender that nobody has admitted to a store with closed membership.
    static func notAdmitted(_ replica: ReplicaID, key: VerifyingKey?) -> SyncError {
        SyncError(
            .notMember,
            "replica \(replica) (key \(key.map(\.description) ?? "none: it does not sign")), which "
                + "sent it, waits to be admitted: membership is closed. Run: synctool remote "
                + "members DB --admit \(replica)",
            hint: "To admit it run: synctool remote members DB --admit \(replica)")
    }

    /// This replica was removed by another one.
    static func removedHere(_ own: ReplicaID, by decider: ReplicaID) -> SyncError {
        SyncError(
            .notMember,
            "replica \(decider) removed this replica, \(own), from the members: others refuse what "
                + "it sends",
            hint: "On another member, run: synctool remote members REPLICA --admit \(own). "
                + "Where no other member is left, clone the store from the remote, and add to the "
                + "clone what only this file has")
    }

    /// This replica waits to be admitted by another one.
    static func notAdmittedHere(_ own: ReplicaID, by decider: ReplicaID) -> SyncError {
        SyncError(
            .notMember,
            "this replica, \(own), is not admitted: replica \(decider) closed the membership, and "
                + "others do not merge what this one sends",
            hint: "On a member, for example replica \(decider), run: synctool remote members "
                + "REPLICA --admit \(own), and there: synctool sync REPLICA; then sync here")
    }

    /// Transactions in this replica's name that it did not sign.
    static func impostor(_ own: ReplicaID, number: Int64, sender: ReplicaID) -> SyncError {
        SyncError(
            .impostor,
            "it has transaction \(number) of this replica (\(own)), which this replica did not "
                + "sign: replica \(sender), which sent it, or who wrote the file, writes in its "
                + "name",
            hint: "Remove the file, and check which users may write to the remote")
    }
}
