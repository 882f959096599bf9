import Foundation
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// Makes a new replica from a snapshot: a new tracked database with the schema of the snapshot,
    /// in which the snapshot is merged. Batches that follow are merged into it.
    ///
    /// The file gets its name when it is complete.
    /// - Parameter isPrivate: no other user may read it: it will have keys.
    /// - Throws: ``SyncError``: `refused` when the file exists; `badData` when the batch is no
    ///   snapshot, or its schema has a statement that ``ReceivedSchema`` does not run; `readOnly`.
    /// - Complexity: O(rows and facts of the store)
    package static func create(
        at path: String, from snapshot: [UInt8], isPrivate: Bool = false,
        wall: @escaping @Sendable () -> Int64 = { Timestamp.now().milliseconds }
    ) throws -> StoreReplica {
        let batch = try BatchDecoder.decode(snapshot)
        guard batch.from.isEmpty else {
            throw SyncError(
                .badData, "the batch is no snapshot", operation: "clone", path: path,
                hint: "Push to the remote from a replica first")
        }
        guard !batch.extras.schema.isEmpty else {
            throw SyncError(
                .badData, "the store has no tracked table yet", operation: "clone", path: path,
                hint:
                    "Track a table on the replica that has pushed, and add another folder there: a "
                    + "store that begins without a table cannot be cloned from its first one")
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw SyncError(
                .refused, "the file exists", operation: "clone", path: path,
                hint: "Choose another name, or remove it first")
        }
        let draft = path + ".syncd-clone"
        try removeDraft(draft)
        do {
            try makeEmptyStore(at: draft, for: batch, mode: isPrivate ? 0o600 : 0o666)
            let replica = try StoreReplica(draft, wall: wall)
            _ = try replica.merge(snapshot, isAlone: true)
            if batch.proofs[batch.sender] != nil { try replica.startSigning() }
            try replica.close()
            try FileManager.default.moveItem(atPath: draft, toPath: path)
        } catch {
            try? removeDraft(draft)
            throw Store.explained(error, path: path, operation: "clone")
        }
        return try StoreReplica(path, wall: wall)
    }

    private static func removeDraft(_ draft: String) throws {
        for ending in ["", "-wal", "-shm", "-journal"]
        where FileManager.default.fileExists(atPath: draft + ending) {
            try FileManager.default.removeItem(atPath: draft + ending)
        }
    }

    private static func makeEmptyStore(
        at path: String, for batch: Batch, mode: mode_t
    ) throws {
        try ReceivedSchema(batch).create(at: path, mode: mode)
        let queue = try DatabaseOpener.open(path)
        // Of tables that the sender does not have either, it may have forwarded facts.
        let names = try queue.read { database in
            try ReceivedSchema.tables(of: batch).filter { try database.tableExists($0) }
        }
        try Store.track(path, entities: .only(names))
        try queue.writeWithoutTransaction { database in
            guard let connection = database.sqliteConnection else { return }
            try RawTransaction.write(on: connection) {
                let settings = Metadata(connection)
                try Metadata(database).setNewTables(.cloned)
                try settings.set(.store, to: .blob(batch.store.bytes))
                // The database is empty: all rows come from the store.
                try settings.set(.stated, to: .integer(0))
                try adoptNames(of: batch, in: database, on: connection)
                if !batch.extras.policies.isEmpty {
                    try settings.set(.policies, to: .text(batch.extras.policies))
                }
            }
        }
        try queue.close()
    }

    /// The new replica calls its tables and columns in facts as the sender does.
    private static func adoptNames(
        of batch: Batch, in database: Database, on connection: OpaquePointer
    ) throws {
        guard !batch.names.isEmpty else { return }
        try ReplicationTables.create(connection)
        let names = SchemaNames(
            batch.names, tables: try SchemaReader(database).tables().filter { $0.kind == .table })
        var foreign = ForeignNames()
        foreign.note(batch, own: names)
        try NameStorage(connection).write(names, foreign: foreign)
    }
}
