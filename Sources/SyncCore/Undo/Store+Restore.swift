import SyncStorage
import SyncValues

extension Store {
    /// Brings a deleted object back from its newest tombstone, with what the same transaction
    /// deleted along with it by cascade.
    ///
    /// A reference whose object is gone for good becomes NULL where the schema allows it.
    ///
    /// - Parameters:
    ///   - object: the deleted object, in its last incarnation.
    ///   - author: the author in history.
    /// - Throws: ``SyncError``: `unknownObject` when history knows no delete of it; `refused` when
    ///   it is there, not all of its values were kept, or a constraint does not allow it: nothing
    ///   is written then.
    @discardableResult
    public func restore(
        _ object: ObjectName, author: String = "syncd"
    ) throws -> UndoReport {
        try explaining("restore") {
            let transaction = try newestDelete(of: object)
            let name = ObjectID(store: id, entity: object.entity, key: object.key).path
            var report = try UndoWriter.transaction(
                at: path, author: author, context: "restore of \(name)"
            ) { writer in
                // Where commits ran together, one transaction may have deleted it several times.
                let root = transaction.changes.lastIndex {
                    $0.kind == .delete && $0.object.key == object.key
                        && SQLName.isEqual($0.entity, to: object.entity)
                }
                guard let root else {
                    throw SyncError(.internalFault, "history lost the delete of \(name)")
                }
                let family = try family(
                    of: transaction.changes[root], in: transaction, reading: writer)
                return try Restoration(family, writer: writer, path: path).run()
            }
            if !report.steps.isEmpty { report.token = try settledHead() }
            return report
        }
    }

    private func newestDelete(of object: ObjectName) throws -> Transaction {
        var query = HistoryQuery()
        query.object = object
        query.kinds = [.delete]
        query.reverse = true
        query.limit = 1
        guard let number = try presentHistory(query).first?.number else {
            try requireSettled()
            // An entity that the store does not have is another mistake, which this names.
            var known = HistoryQuery()
            known.entities = [object.entity]
            known.limit = 0
            try forEachTransaction(matching: known) { _ in false }
            throw SyncError(
                .unknownObject,
                "the history has no deletion of \(object.entity)/\(object.key)",
                hint: "List the deletions: synctool history DB --kind delete --entity "
                    + Shell.quoted(object.entity))
        }
        // The whole transaction: what the delete took along.
        return try transaction(number, naming: .now)
    }

    /// A delete, and those that it took along in its transaction; each after one that took it.
    private func family(
        of root: Change, in transaction: Transaction, reading writer: UndoWriter
    ) throws -> [Change] {
        var family = [root]
        var objects: Set<ObjectID> = [root.object]
        var rest = transaction.changes.filter { $0.kind == .delete && $0.seq != root.seq }
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            rest = try rest.filter { change in
                guard try wasTakenAlong(change, by: objects, reading: writer) else { return true }
                family.append(change)
                objects.insert(change.object)
                hasGrown = true
                return false
            }
        }
        return family
    }

    /// Whether the delete of one of the objects deleted this one, too. A merge does not say so: its
    /// deletes go by the references in what was kept.
    private func wasTakenAlong(
        _ change: Change, by objects: Set<ObjectID>, reading writer: UndoWriter
    ) throws -> Bool {
        switch change.cause {
        case .cascade(let parent): return objects.contains(parent)
        case .merge:
            guard let values = change.tombstone else { return false }
            return try writer.table(change.entity).foreignKeys.contains { reference in
                let parent = writer.tables[SQLName.folded(reference.parent)]
                guard reference.onDelete == .cascade, let parent,
                    reference.parentColumns.isEmpty || reference.parentColumns == parent.key
                else { return false }
                let key = ObjectKey(reference.columns.map { values[$0] ?? .null })
                return objects.contains { object in
                    object.key == key && SQLName.isEqual(object.entity, to: parent.name)
                }
            }
        case .direct, .replace, .renumbered: return false
        }
    }
}
