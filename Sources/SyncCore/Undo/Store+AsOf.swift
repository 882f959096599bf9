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
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`, `unknownEntity`.
    /// - Complexity: O(changes of the object).
    public func object(
        _ name: ObjectName, asOf token: Token
    ) throws -> PastObject {
        try explaining("as of") {
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(token)
                let entity = try reader.presentEntity(name.entity)
                var past = PastState(try reader.row(of: entity, key: name.key))
                var query = HistoryQuery()
                query.object = name
                query.after = token
                query.reverse = true
                try scan.run(query) { transaction in
                    for change in transaction.changes.reversed() { past.takeBack(change) }
                    return true
                }
                return past.object(columns: entity.columnNames, key: entity.layout.key)
            }
        }
    }
}

/// A row on its way back in time; nil values are unknown.
private struct PastState {
    private var values: [String: Value?]?

    init(_ row: NamedValues?) {
        values = row.map { Dictionary($0.pairs.map { ($0.name, $0.value) }) { $1 } }
    }

    mutating func takeBack(_ change: Change) {
        switch change.kind {
        case .insert: values = nil
        case .delete:
            let kept = change.tombstone?.pairs ?? []
            values = Dictionary(kept.map { ($0.name, $0.value) }) { $1 }
            // What it had before the updates that ran together with the delete.
            for name in change.properties { values?[name] = .some(change.oldValues?[name]) }
        case .update:
            for name in change.properties { values?[name] = .some(change.oldValues?[name]) }
        }
    }

    func object(columns: [String], key: [String]) -> PastObject {
        guard let values else { return PastObject(isPresent: false) }
        var known: [NamedValues.Pair] = []
        var unknown: [String] = []
        for column in columns {
            if let value = values[column] ?? nil {
                known.append(.init(name: column, value: value))
            } else {
                unknown.append(column)
            }
        }
        return PastObject(
            isPresent: true, values: NamedValues(known), unknown: unknown,
            key: key.map { values[$0] ?? nil })
    }
}

extension PreparedReader {
    /// - Throws: `unknownEntity`.
    fileprivate func presentEntity(_ name: String) throws -> TrackedEntity {
        let folded = SQLName.folded(name)
        if let entity = catalog.present.first(where: { $0.folded == folded }),
            // Another program may have dropped or renamed it.
            try SchemaReader.hasTable(entity.name, on: connection)
        {
            return entity
        }
        try catalog.reload()
        guard let entity = catalog.present.first(where: { $0.folded == folded }) else {
            throw SyncError(
                .unknownEntity, "the store has no entity '\(name)'",
                hint: "List the tracked tables: synctool status DB")
        }
        return entity
    }

    /// The present row of an object; nil when there is none.
    fileprivate func row(of entity: TrackedEntity, key: ObjectKey) throws -> NamedValues? {
        let names = entity.columnNames.map(SQLName.quoted).joined(separator: ", ")
        let condition = entity.layout.key.map { SQLName.quoted($0) + " IS ?" }
        let row = try Statement(
            "SELECT \(names) FROM \(SQLName.quoted(entity.name)) WHERE "
                + condition.joined(separator: " AND "), on: connection)
        row.bind(key.values)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return NamedValues(
            entity.columnNames.enumerated().map {
                .init(name: $1, value: row.value(Int32($0)))
            })
    }
}
