import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// What a replica has merged: from there on somebody else sends the rest.
    public struct Position: Sendable, Hashable {
        let vector: VersionVector

        /// Where somebody is who has nothing.
        public static let start = Position(vector: VersionVector())
    }

    /// What this replica has merged.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    public func position() throws -> Position { Position(vector: try vector) }

    /// Everything after a position, as batches (docs/batch-format.md) to be merged in this order.
    /// After ``Position/start`` they are a snapshot, from which
    /// ``StoreReplica/clone(at:from:)`` makes a new replica.
    /// - Throws: ``SyncError``: `busy`, and what SQLite says.
    /// - Complexity: O(what changed after the position)
    public func export(after position: Position = .start) throws -> [[UInt8]] {
        try batches(since: position.vector)
    }

    /// Merges a batch; merging it again changes nothing.
    /// - Returns: false when the batch starts after what is here.
    /// - Throws: ``SyncError``: `badData`, `newerFormat` for bytes that are no batch; `refused` for
    ///   a batch of another store.
    /// - Complexity: O(what it tells, and what is unresolved)
    public func absorb(_ batch: [UInt8]) throws -> Bool { try merge(batch) }

    /// Makes a new replica: a database at `path` with the schema and the rows of a snapshot.
    /// - Throws: ``SyncError``: `refused` when the file exists; `badData` when the first batch is
    ///   no snapshot.
    public static func clone(at path: String, from batches: [[UInt8]]) throws -> StoreReplica {
        guard let first = batches.first else {
            throw SyncError(.badData, "there is no snapshot to begin with", operation: "clone")
        }
        let replica = try create(at: path, from: first)
        for batch in batches.dropFirst() { _ = try replica.merge(batch) }
        return replica
    }
}
