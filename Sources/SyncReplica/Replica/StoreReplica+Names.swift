import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// The names of the replicas of the store.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(replicas)
    public func replicaNames() throws -> KnownNames {
        try run("names") { session in
            try RawTransaction.read(on: session.connection) {
                try KnownNames.read(session.connection)
            }
        }
    }

    /// Gives this replica another name. Where the store signs, others learn it with the next
    /// exchange: a transaction without changes, so that there is something to send.
    /// - Throws: ``SyncError``: `invalidArgument` for a text that is no name; `cannotTrack`;
    ///   `busy`, and SQLite errors.
    public func setName(_ text: String) throws {
        guard let name = ReplicaName(text) else {
            throw SyncError(
                .invalidArgument,
                "'\(text.printable(countMax: 80))' cannot be the name of a replica",
                hint: "A name has at most \(ReplicaName.bytesMax) bytes, no control characters, no "
                    + "space at its ends, and is not 8 or 32 hexadecimal digits")
        }
        try run("name") { session in
            try session.transact { transaction in
                try ReplicaNaming(transaction).rename(to: name)
                guard try SignedSending(transaction).isOn() else { return }
                try AuthoredRecording(transaction, author: nil, context: "name")
                    .record(about: []) { _, _ in }
            }
        }
    }
}
