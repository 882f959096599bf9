import SyncStorage
import SyncValues

/// What of an object was erased from the history of one replica.
public struct ErasureReport: Sendable, Hashable {
    /// Deletes that had values.
    public package(set) var tombstones = 0
    /// Updates that had old values.
    public package(set) var updates = 0
    /// The name in the history, as the schema spells it.
    public package(set) var object: ObjectName
}

extension Store {
    /// Removes the values of one object from the history: from its tombstones and from the old
    /// values of its updates. That it was changed, when and by which author stays, and its key.
    ///
    /// The row in the table stays as it is. Other replicas keep what they have received, and so do
    /// the records of merging in this file. Freed pages are overwritten with zeros; the WAL has the
    /// values until the next checkpoint.
    ///
    /// - Throws: ``SyncError``: `unknownEntity`, `unknownObject` when the history has no change of
    ///   it, `busy`.
    /// - Complexity: O(changes of the object), and the digest.
    @discardableResult
    public func erase(_ object: ObjectName) throws -> ErasureReport {
        try explaining("purge") {
            while try digest() {}
            return try live.withState { connection, live in
                try RawTransaction.execute("PRAGMA secure_delete = ON", on: connection)
                return try RawTransaction.write(on: connection, didCommit: live.didCommit) {
                    try Eraser(connection, catalog: live.catalog).erase(object)
                }
            }
        }
    }
}

/// Rewrites the changes of one object without values, within the transaction of its connection.
private struct Eraser {
    private let connection: OpaquePointer
    private let catalog: EntityCatalog

    init(_ connection: OpaquePointer, catalog: EntityCatalog) {
        self.connection = connection
        self.catalog = catalog
    }

    func erase(_ object: ObjectName) throws -> ErasureReport {
        // Under its former names, too; and what had this name before.
        let folded = SQLName.folded(object.entity)
        let ids = Set(catalog.ids(named: folded) + catalog.ids(namedNow: folded)).sorted()
        guard let first = ids.first, let entity = try catalog.entity(first) else {
            throw SyncError.unknownEntity(object.entity, among: catalog.present.map(\.name))
        }
        var report = ErasureReport(object: ObjectName(entity: entity.name, key: object.key))
        var isKnown = false
        let select = try Statement(ChangeTable.ofObjectSQL, on: connection)
        let update = try Statement(ChangeTable.setDataSQL, on: connection)
        for id in ids {
            guard let entity = try catalog.entity(id) else { continue }
            var found: [NetChange] = []
            select.bind(NetChange.storedKey(object.key), at: 1)
            select.bind(id << 3, at: 2)
            while try select.step() {
                guard let kind = Change.Kind(rawValue: Int(select.integer(1) & 7)) else { continue }
                found.append(
                    try NetChange(
                        seq: select.integer(0), entity: entity, kind: kind, key: select.value(2),
                        data: select.blob(3)))
            }
            isKnown = isKnown || !found.isEmpty
            for var change in found where !change.old.isEmpty || !change.kept.isEmpty {
                if change.kind == .delete { report.tombstones += 1 } else { report.updates += 1 }
                (change.old, change.kept) = ([], [])
                update.bind(change.seq, at: 1)
                update.bind(change.packedData, at: 2)
                try update.run()
            }
        }
        guard isKnown else {
            throw SyncError(
                .unknownObject, "the history has no change of \(object.entity)/\(object.key)",
                hint:
                    "List its objects: synctool history DB --entity \(Shell.quoted(object.entity))")
        }
        // The newest row of the log stays when it is digested, and nobody reads its values then.
        try RawTransaction.execute(LogTable.clearDigestedSQL, on: connection)
        try RawTransaction.execute("DELETE FROM syncd_guard", on: connection)
        return report
    }
}
