import SyncStorage

extension HistoryQuery {
    /// Whether a transaction's own properties satisfy the query; its changes are not compared.
    func matchesHeader(of transaction: Transaction) -> Bool {
        if let after, transaction.number <= after.number { return false }
        if let upTo, transaction.number > upTo.number { return false }
        if let since, transaction.timestamp < since { return false }
        if let until, transaction.timestamp >= until { return false }
        if let context, transaction.context != context { return false }
        if !authors.isEmpty {
            guard let author = transaction.certainAuthor, authors.contains(author) else {
                return false
            }
        }
        if let author = transaction.certainAuthor, excludedAuthors.contains(author) { return false }
        return true
    }

    /// Whether a change satisfies the query. Entity names compare as SQLite compares them, without
    /// regard to ASCII case.
    package func matches(_ change: Change) -> Bool {
        if !kinds.isEmpty, !kinds.contains(change.kind) { return false }
        if !entities.isEmpty {
            guard entities.contains(where: { isName($0, of: change) }) else { return false }
        }
        if let object {
            guard change.object.key == object.key, isName(object.entity, of: change) else {
                return false
            }
        }
        if let objects {
            let name = ObjectName(foldedNameOf: change.object)
            guard objects.contains(name) else { return false }
        }
        if !properties.isEmpty, change.kind == .update {
            return change.properties.contains { changed in
                properties.contains { SQLName.isEqual($0, to: changed) }
            }
        }
        return true
    }

    private func isName(_ name: String, of change: Change) -> Bool {
        if SQLName.isEqual(name, to: change.entity) { return true }
        guard let former = formerNames[SQLName.folded(name)] else { return false }
        return former.contains(SQLName.folded(change.entity))
    }

    /// The part of a transaction that satisfies the query, or nil when none does.
    ///
    /// - Complexity: O(changes)
    public func filter(_ transaction: Transaction) -> Transaction? {
        guard matchesHeader(of: transaction) else { return nil }
        guard choosesChanges else { return transaction }
        var result = transaction
        result.changes = transaction.changes.filter(matches)
        return result.changes.isEmpty ? nil : result
    }
}
