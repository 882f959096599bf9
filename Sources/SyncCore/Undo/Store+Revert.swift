import SyncStorage
import SyncValues

extension Store {
    /// Undoes a transaction as a new one, property by property.
    ///
    /// An inserted object is deleted, a deleted one comes back from its tombstone, a changed
    /// property gets its old value, unless a later transaction depends on it: an object that was
    /// changed again or is referred to, or whose values were not kept, is not changed and is named
    /// in the report. The new transaction is ordinary work: triggers fire, constraints hold, and it
    /// can be reverted itself. A key that was changed is changed back, so that what refers to the
    /// object follows it.
    ///
    /// - Parameters:
    ///   - number: the number of the transaction.
    ///   - author: the author in history.
    /// - Throws: ``SyncError``: `unknownObject` when there is no such transaction, `refused` when a
    ///   constraint does not allow the result (nothing is written then), `busy`, `readOnly`.
    @discardableResult
    public func revert(_ number: Int64, author: String = "syncd") throws -> UndoReport {
        try explaining("revert") {
            let transaction = try transaction(number, naming: .now)
            let context = "revert of \(number)"
            var report = try UndoWriter.transaction(at: path, author: author, context: context) {
                try Reversal(transaction, writer: $0, in: self).run()
            }
            if !report.steps.isEmpty { report.token = try settledHead() }
            return report
        }
    }

    /// The transaction of a number, whole.
    /// - Throws: `unknownObject` when history has none.
    package func transaction(_ number: Int64) throws -> Transaction {
        try transaction(number, naming: .then)
    }

    func transaction(_ number: Int64, naming: Naming) throws -> Transaction {
        let (found, purged) = try consistentRead(naming: naming) { reader, scan in
            (try scan.transaction(number), try reader.metadata.position(.purged))
        }
        guard let found else {
            throw SyncError(
                .unknownObject,
                number > 0 && number <= purged
                    ? "transaction \(number) was purged, or never was: history begins after "
                        + "number \(purged)"
                    : "there is no transaction \(number)",
                hint: "Use a number from: synctool history \(Shell.quoted(path))")
        }
        return found
    }

    /// Whether updates of the entity keep their old values now.
    func keepsOldValues(of entity: String) throws -> Bool {
        let folded = SQLName.folded(entity)
        return try reading.read { reader in
            reader.catalog.present.first { $0.folded == folded }?.keepsOldValues ?? false
        }
    }

    /// A change of the same object in a later transaction.
    struct LaterChange {
        let number: Int64
        let change: Change
    }

    /// What was done after a transaction to each of some objects, by folded name; oldest first.
    func laterChanges(
        of objects: Set<ObjectName>, after transaction: Transaction
    ) throws -> [ObjectName: [LaterChange]] {
        var query = HistoryQuery()
        query.objects = objects
        query.after = transaction.token
        var found: [ObjectName: [LaterChange]] = [:]
        for later in try presentHistory(query) {
            for change in later.changes {
                found[ObjectName(foldedNameOf: change.object), default: []].append(
                    LaterChange(number: later.number, change: change))
            }
        }
        return found
    }

    /// The transactions that a query finds, with the names that tables and columns have now, and by
    /// these names.
    /// - Throws: as ``history(_:)``.
    func presentHistory(_ query: HistoryQuery) throws -> [Transaction] {
        try consistentRead(naming: .now) { reader, scan in
            try TokenCheck(reader, identity: identity).check(query.after)
            try TokenCheck(reader, identity: identity).check(query.upTo)
            var transactions: [Transaction] = []
            try scan.run(query) {
                transactions.append($0)
                return true
            }
            return transactions
        }
    }
}

extension NamedValues {
    /// With other values of the properties that it has.
    func overwritten(by other: NamedValues?) -> NamedValues {
        guard let other else { return self }
        return NamedValues(pairs.map { .init(name: $0.name, value: other[$0.name] ?? $0.value) })
    }
}

extension Change {
    /// The values that a deleted object is written back with, and what is left out of them, because
    /// the columns are gone; nil when not all were kept. Columns that the table got since have
    /// their defaults.
    func wholeTombstone(
        for table: TableSchema
    ) -> (values: NamedValues, gone: [String])? {
        guard let tombstone,
            table.storedColumns.allSatisfy({ column in
                tombstone[column.name] != nil
                    || addedLater.contains { SQLName.isEqual($0, to: column.name) }
            })
        else { return nil }
        let gone = tombstone.pairs.map(\.name).filter { table.column($0) == nil }
        return (NamedValues(tombstone.pairs.filter { !gone.contains($0.name) }), gone)
    }
}
