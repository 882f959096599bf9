import SyncStorage
import SyncValues

/// An object as it was at a position in history.
public struct PastObject: Sendable, Hashable {
    /// Whether it was there.
    public let isPresent: Bool
    /// Its values then, as far as they are known.
    public let values: NamedValues
    /// Properties that were changed since and whose old values were not kept.
    public let unknown: [String]
    /// The values of its key, as far as they are known.
    let key: [Value?]

    init(
        isPresent: Bool, values: NamedValues = NamedValues([]), unknown: [String] = [],
        key: [Value?] = []
    ) {
        (self.isPresent, self.values, self.unknown, self.key) = (isPresent, values, unknown, key)
    }
}

extension Store {
    /// An object's values just after the transaction of a token: the present row, with everything
    /// later taken back.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`, `unknownEntity`;
    ///   `invalidArgument` for a key with another number of parts.
    /// - Complexity: O(changes of the object).
    public func object(
        _ name: ObjectName, asOf token: Token
    ) throws -> PastObject {
        try explaining("as of") {
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(token)
                var past = PastRows(reader)
                try past.check(name)
                try past.begin(name)
                return try past.takenBack(to: token, by: scan)(name)
            }
        }
    }

    /// The values that inserts and updates of one transaction left, by ``Change/seq``: those that
    /// are known, by the names that the changes have. Tables that are not tracked any more have
    /// none.
    ///
    /// - Parameter changes: as this store gave them, not a client.
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`.
    /// - Complexity: O(the later changes of their objects)
    package func newValues(
        of changes: some Collection<Change>, asOf token: Token
    ) throws -> [Int64: NamedValues] {
        try explaining("history") {
            // Tables and columns may have other names now, also each other's.
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(token)
                var past = PastRows(reader)
                let written = changes.filter { $0.kind != .delete }
                var present: [Int64: Change] = [:]
                for (seq, change) in try scan.changes(Set(written.map(\.seq)), in: token.number) {
                    let name = ObjectName(foldedNameOf: change.object)
                    guard try past.isTracked(name) else { continue }
                    try past.begin(name)
                    present[seq] = change
                }
                let taken = try past.takenBack(to: token, by: scan)
                return Dictionary(
                    uniqueKeysWithValues: written.compactMap { change in
                        guard let now = present[change.seq] else { return nil }
                        let values = taken(ObjectName(foldedNameOf: now.object)).values
                        return (change.seq, values.renamed(from: now, to: change))
                    })
            }
        }
    }
}

extension NamedValues {
    /// The values of an update's properties by the names that they had then; those of an insert as
    /// they are.
    fileprivate func renamed(from now: Change, to then: Change) -> NamedValues {
        guard then.kind == .update else { return self }
        return NamedValues(
            zip(now.properties, then.properties).compactMap { name, earlier in
                self[name].map { .init(name: earlier, value: $0) }
            })
    }
}
