import SyncStorage
import SyncValues

/// An object with the transaction that each of its values is from.
public struct BlamedObject: Sendable, Hashable {
    /// The object and its values.
    public let object: PastObject
    /// By property: the transaction that wrote the value, without its changes. A property that has
    /// none has its value from before the history.
    public let transactions: [String: Transaction]
}

extension Store {
    /// An object's values just after the transaction of a token, each with the transaction that
    /// wrote it: the last update of the property, or the insert. An update that wrote the value
    /// that was there counts for nothing: history does not have it. Where a key was changed, the
    /// other values are followed to the transactions before.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`, `unknownEntity`;
    ///   `invalidArgument` for a key with another number of parts.
    /// - Complexity: O(changes of the object).
    public func blame(_ name: ObjectName, asOf token: Token) throws -> BlamedObject {
        try explaining("blame") {
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(token)
                var past = PastRows(reader)
                try past.check(name)
                try past.begin(name)
                let object = try past.takenBack(to: token, by: scan)(name)
                let key = try reader.presentEntity(name.entity).layout.key
                var search = BlameSearch(object, key: Set(key))
                try search.run(from: name, upTo: token, by: scan)
                return BlamedObject(object: object, transactions: search.found)
            }
        }
    }
}

/// Follows an object from its last change backwards, until all its values are found.
private struct BlameSearch {
    let object: PastObject
    let key: Set<String>
    var left: Set<String>
    var found: [String: Transaction] = [:]

    init(_ object: PastObject, key: Set<String>) {
        (self.object, self.key) = (object, key)
        left = object.isPresent ? Set(object.values.pairs.map(\.name) + object.unknown) : []
    }

    /// - Invariant: each round reads older transactions than the one before.
    mutating func run(from name: ObjectName, upTo token: Token, by scan: HistoryScan) throws {
        var next: (name: ObjectName, token: Token)? = (name.folded, token)
        var isFirst = true
        while let (name, token) = next, !left.isEmpty {
            next = try former(of: name, upTo: token, including: isFirst, by: scan)
            isFirst = false
        }
    }

    /// Reads the changes under one name.
    /// - Returns: what the object was called before, and where that ended; nil: there is no more.
    private mutating func former(
        of name: ObjectName, upTo token: Token, including isIncluded: Bool, by scan: HistoryScan
    ) throws -> (name: ObjectName, token: Token)? {
        var query = HistoryQuery()
        query.objects = [name]
        query.upTo = token
        query.reverse = true
        var former: (ObjectName, Token)?
        try scan.run(query) { transaction in
            guard isIncluded || transaction.number < token.number else {
                takeRewritten(in: transaction)
                return true
            }
            for change in transaction.changes.reversed() {
                switch change.kind {
                case .update: take(change.properties, from: transaction)
                case .insert:
                    guard case .renumbered(let before) = change.cause else {
                        take(left, from: transaction)
                        return false
                    }
                    take(key, from: transaction)
                    former = (ObjectName(foldedNameOf: before), transaction.token)
                    return false
                case .delete: return false
                }
            }
            return !left.isEmpty
        }
        return former
    }

    /// What the transaction that changed the key wrote besides: the former row had other values.
    private mutating func takeRewritten(in transaction: Transaction) {
        guard let former = transaction.changes.last(where: { $0.kind == .delete }) else { return }
        take(former.properties, from: transaction)
        let rewritten = left.filter { property in
            former.tombstone?[property].map { $0 != object.values[property] } ?? false
        }
        take(rewritten, from: transaction)
    }

    private mutating func take(_ properties: some Sequence<String>, from transaction: Transaction) {
        var head = transaction
        head.changes = []
        for property in properties where left.remove(property) != nil { found[property] = head }
    }
}
