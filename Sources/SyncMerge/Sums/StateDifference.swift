import SyncValues

/// A replica that has merged the same transactions as another one and has other facts, or shows
/// them otherwise: a fault of the program or of a file.
package struct StateDifference: Sendable, Hashable {
    /// The other replica.
    package let replica: ReplicaID
    /// The names of the entities that differ.
    package let entities: [String]

    /// Describes a difference.
    package init(replica: ReplicaID, entities: [String]) {
        self.replica = replica
        self.entities = entities
    }
}

extension StateDifference {
    /// What is wrong, as a sentence.
    package var problem: String {
        "this replica and replica \(replica) have merged the same transactions and differ in "
            + entities.joined(separator: ", ")
    }

    /// What to do about a difference.
    package static let hint =
        "Run on both: synctool doctor DB --mend; it finds out whose records were changed. If they "
        + "differ after the next exchange, replace one: synctool sync DB, then synctool clone URL "
        + "NEWFILE"

    /// The error for some differences; nil for none.
    /// - Parameter path: the database.
    package static func error(_ differences: [StateDifference], path: String) -> SyncError? {
        guard !differences.isEmpty else { return nil }
        return SyncError(
            .diverged, differences.map(\.problem).joined(separator: "; "), path: path, hint: hint)
    }
}
