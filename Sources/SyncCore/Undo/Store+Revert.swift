import SyncStorage
import SyncValues

extension Store {
    /// Undoes a transaction as a new one, property by property.
    ///
    /// An inserted object is deleted, a deleted one comes back from its tombstone, a changed
    /// property gets its old value, unless a later transaction depends on it: an object that was
    /// changed again or is referred to, or whose values were not kept, is not changed and is named
    /// in the report. The new transaction is ordinary work: triggers fire, constraints hold, and it
    /// can be reverted itself.
    ///
    /// - Parameters:
    ///   - number: the number of the transaction.
    ///   - author: the author in history.
    /// - Throws: ``SyncError``: `invalidArgument` when there is no such transaction, `refused` when
    ///   a constraint does not allow the result (nothing is written then), `busy`, `readOnly`.
    @discardableResult
    public func revert(_ number: Int64, author: String = "syncd") throws -> UndoReport {
        try explaining("revert") {
            let transaction = try transaction(number)
            let context = "revert of \(number)"
            var report = try UndoWriter.transaction(at: path, author: author, context: context) {
                writer in
                var report = UndoReport()
                // What refers to an inserted object may be undone after it.
                var referred: [Change] = []
                for change in transaction.changes.reversed() {
                    if change.kind == .insert, try writer.referrer(to: change) != nil {
                        referred.append(change)
                    } else {
                        try undo(change, of: transaction, with: writer, into: &report)
                    }
                }
                for change in referred {
                    if let referrer = try writer.referrer(to: change) {
                        report.refusals.append(
                            .init(
                                object: change.object, properties: [],
                                reason: "\(referrer) refers to it", blockedBy: nil))
                    } else {
                        try undo(change, of: transaction, with: writer, into: &report)
                    }
                }
                return report
            }
            if !report.steps.isEmpty { report.token = try settledHead() }
            return report
        }
    }

    /// The transaction of a number, whole.
    /// - Throws: `invalidArgument` when history has none.
    package func transaction(_ number: Int64) throws -> Transaction {
        guard let found = try consistentRead({ try $1.transaction(number) }) else {
            throw SyncError(
                .invalidArgument, "there is no transaction \(number)",
                hint: "Use a number from: synctool history \(path)")
        }
        return found
    }

    private func undo(
        _ change: Change, of transaction: Transaction, with writer: UndoWriter,
        into report: inout UndoReport
    ) throws {
        let table = try writer.table(change.entity)
        let later = try laterChanges(of: change.object, after: transaction)
        func refuse(_ reason: String, properties: [String] = [], by number: Int64? = nil) {
            report.refusals.append(
                .init(
                    object: change.object, properties: properties, reason: reason,
                    blockedBy: number))
        }
        switch change.kind {
        case .insert:
            if let blocker = later.first {
                return refuse("it was changed again", by: blocker.number)
            }
            guard try writer.exists(in: table, key: change.object.key) else {
                return refuse("it does not exist")
            }
            try writer.delete(from: table, key: change.object.key)
            report.steps.append(.init(kind: .delete, object: change.object, properties: []))
        case .delete:
            guard try !writer.exists(in: table, key: change.object.key) else {
                return refuse("its key is in use again", by: later.first?.number)
            }
            guard let values = change.tombstone, values.isWhole(table) else {
                return refuse("not all of its values were kept")
            }
            try writer.insert(into: table, values: values)
            report.steps.append(.init(kind: .insert, object: change.object, properties: []))
        case .update:
            let old = change.oldValues ?? NamedValues([])
            let lost = change.properties.filter { old[$0] == nil }
            if !lost.isEmpty {
                refuse("old values of \(change.entity) are not kept", properties: lost)
            }
            guard lost.count < change.properties.count else { return }
            let isThere = try writer.exists(in: table, key: change.object.key)
            guard isThere || later.contains(where: { $0.change.kind == .delete }) else {
                return refuse("it does not exist", properties: change.properties)
            }
            try restore(
                old, of: change.object, in: table, after: later, with: writer, into: &report)
        }
    }

    private func restore(
        _ old: NamedValues, of object: ObjectID, in table: TableSchema, after later: [LaterChange],
        with writer: UndoWriter, into report: inout UndoReport
    ) throws {
        var restored: [NamedValues.Pair] = []
        for pair in old.pairs {
            let blocker = later.first {
                $0.change.kind != .update || $0.change.properties.contains(pair.name)
            }
            if let blocker {
                let reason =
                    blocker.change.kind == .delete ? "it was deleted" : "it was changed again"
                report.refusals.append(
                    .init(
                        object: object, properties: [pair.name], reason: reason,
                        blockedBy: blocker.number))
            } else if table.column(pair.name) == nil {
                report.refusals.append(
                    .init(
                        object: object, properties: [pair.name],
                        reason: "the column no longer exists", blockedBy: nil))
            } else {
                restored.append(pair)
            }
        }
        guard !restored.isEmpty else { return }
        try writer.update(in: table, key: object.key, values: NamedValues(restored))
        report.steps.append(
            .init(kind: .update, object: object, properties: restored.map(\.name)))
    }

    /// A change of the same object in a later transaction.
    struct LaterChange {
        let number: Int64
        let change: Change
    }

    private func laterChanges(
        of object: ObjectID, after transaction: Transaction
    ) throws -> [LaterChange] {
        var query = HistoryQuery()
        query.object = .init(entity: object.entity, key: object.key)
        query.after = transaction.token
        return try history(query).flatMap { later in
            later.changes.map { LaterChange(number: later.number, change: $0) }
        }
    }
}

extension NamedValues {
    /// Whether these are all the values that a row of the table is written with.
    package func isWhole(_ table: TableSchema) -> Bool {
        table.storedColumns.allSatisfy { self[$0.name] != nil }
    }
}
