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
                var report = UndoReport()
                var back: Set<ObjectID> = []
                // Where commits ran together, one transaction may have deleted it several times.
                let root = transaction.changes.lastIndex {
                    $0.kind == .delete && $0.object.key == object.key
                        && SQLName.isEqual($0.entity, to: object.entity)
                }
                guard let root else {
                    throw SyncError(.internalFault, "history lost the delete of \(name)")
                }
                var rest = transaction.changes.filter { $0.kind == .delete }
                var next: Change? = transaction.changes[root]
                rest.removeAll { $0.seq == next?.seq }
                while let change = next {
                    try bringBack(change, with: writer, into: &report, isRoot: back.isEmpty)
                    back.insert(change.object)
                    let index = try rest.firstIndex {
                        try wasTakenAlong($0, by: back, reading: writer)
                    }
                    next = index.map { rest.remove(at: $0) }
                }
                return report
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
            throw SyncError(
                .unknownObject,
                "the history has no deletion of \(object.entity)/\(object.key)",
                hint: "List the deletions: synctool history DB --kind delete --entity "
                    + object.entity)
        }
        // The whole transaction: what the delete took along.
        return try transaction(number, naming: .now)
    }

    private func bringBack(
        _ change: Change, with writer: UndoWriter, into report: inout UndoReport, isRoot: Bool
    ) throws {
        let table = try writer.table(change.entity)
        func refuse(_ reason: String) throws {
            guard !isRoot else {
                throw SyncError(
                    .refused, "\(change.object.path) cannot be restored: \(reason)",
                    hint: "Its history: synctool history \(Shell.quoted(path)) --object "
                        + Shell.quoted(change.object.path))
            }
            report.refusals.append(
                .init(object: change.object, properties: [], reason: reason, blockedBy: nil))
        }
        guard try !writer.exists(in: table, key: change.object.key) else {
            return try refuse("it exists, or another object has its key")
        }
        guard let (values, gone) = change.wholeTombstone(for: table) else {
            return try refuse("not all of its values were kept")
        }
        if !gone.isEmpty {
            report.refusals.append(
                .init(
                    object: change.object, properties: gone,
                    reason: "the column no longer exists", blockedBy: nil))
        }
        var pairs = values.pairs
        for reference in try writer.danglingReferences(of: table, values: values) {
            let columns = reference.columns
            guard columns.allSatisfy({ table.column($0)?.isNotNull == false }) else {
                return try refuse("it requires a deleted object of \(reference.parent)")
            }
            pairs = pairs.map { pair in
                columns.contains { SQLName.isEqual($0, to: pair.name) }
                    ? .init(name: pair.name, value: .null) : pair
            }
            report.refusals.append(
                .init(
                    object: change.object, properties: columns,
                    reason: "the referenced object of \(reference.parent) was deleted; the "
                        + "reference is NULL",
                    blockedBy: nil))
        }
        try writer.insert(into: table, values: NamedValues(pairs))
        report.steps.append(.init(kind: .insert, object: change.object, properties: []))
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
