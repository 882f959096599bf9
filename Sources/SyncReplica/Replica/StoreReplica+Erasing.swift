import SyncCore
import SyncStorage
import SyncValues

extension StoreReplica {
    /// Deletes the closed entries of an object from the conflict log, with the values that were
    /// overridden. Nothing in a store that was never synchronised.
    ///
    /// An open entry is needed to resolve it, on every replica: none is deleted.
    ///
    /// - Returns: how many were deleted.
    /// - Throws: ``SyncError``: `refused` when a conflict of the object is open; as ``init(_:)``.
    /// - Complexity: O(conflicts)
    package static func eraseConflicts(of object: ObjectName, at path: String) throws -> Int {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try replica.run("purge") { session in
            guard try ReplicationTables.exist(session.connection) else { return 0 }
            try RawTransaction.execute("PRAGMA secure_delete = ON", on: session.connection)
            return try session.transact { transaction in
                let storage = transaction.storage
                let found = try ConflictReader(storage).conflicts(open: nil).filter {
                    $0.key == object.key
                        && SQLName.isEqual($0.entity, to: object.entity)
                }
                guard !found.contains(where: \.isOpen) else {
                    throw SyncError(
                        .refused, "\(object.entity)/\(object.key) has unresolved conflicts",
                        hint: "Resolve them first: synctool conflicts DB")
                }
                try storage.conflicts.remove(found.map(\.id))
                return found.count
            }
        }
    }
}
