import SyncMerge
import SyncValues

extension StoreReplica {
    /// What a replica has merged: another replica exports what follows.
    public struct Position: Sendable, Hashable {
        let vector: VersionVector

        /// The position of an empty replica.
        public static let start = Position(vector: VersionVector())
    }

    /// What this replica has merged.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    public func position() throws -> Position { Position(vector: try vector) }

    /// Everything after a position, as batches (docs/batch-format.md) to be merged in this order.
    /// After ``Position/start`` they are a snapshot, from which ``clone(at:from:)`` makes a new
    /// replica.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(what changed after the position)
    public func export(after position: Position = .start) throws -> [[UInt8]] {
        try batches(since: position.vector)
    }

    /// Makes a new replica: a database at `path` with the schema and the rows of a snapshot. Where
    /// no replica has stated the store's schema yet, it has the tables and indexes of the snapshot
    /// alone, and ``compareSchema(consenting:)`` returns nil.
    /// - Throws: ``SyncError``: `refused` when the file exists; `badData` when the first batch is
    ///   no snapshot.
    /// - Complexity: O(rows and facts of the store)
    public static func clone(at path: String, from batches: [[UInt8]]) throws -> StoreReplica {
        guard let first = batches.first else {
            throw SyncError(.badData, "there is no snapshot to begin with", operation: "clone")
        }
        let later = try batches.dropFirst().map(BatchDecoder.decode)
        var schemas = later.flatMap(\.schemas)
        // Such a schema does not say what was called otherwise before a rename.
        if schemas.newest?.content.names == nil, later.contains(where: \.isRenamed) { schemas = [] }
        let replica = try create(at: path, from: first, schemas: schemas)
        for batch in batches.dropFirst() { _ = try replica.merge(batch) }
        try replica.close()
        _ = try completeCopy(at: path)
        return try StoreReplica(path)
    }
}
