import SyncStorage
import SyncValues

/// Rows of the tables on their way back in time, any number of them at once. Within one read
/// transaction.
struct PastRows {
    private let reader: PreparedReader
    private var tables: [String: Table] = [:]
    private var rows: [ObjectName: PastRow] = [:]

    fileprivate struct Table {
        let entity: TrackedEntity
        /// Those of its columns that the table has: while it is migrated it may have lost some.
        let columns: [String]
        let select: Statement
    }

    init(_ reader: PreparedReader) { self.reader = reader }

    /// Reads the present row of an object, unless it was read before.
    ///
    /// - Returns: whether it was read now.
    /// - Throws: `unknownEntity`.
    @discardableResult
    mutating func begin(_ name: ObjectName) throws -> Bool {
        let folded = name.folded
        guard rows[folded] == nil else { return false }
        rows[folded] = try table(folded.entity, of: name).row(key: name.key)
        return true
    }

    /// Ensures that a name is one that an object can have.
    /// - Throws: `unknownEntity`; `invalidArgument` for a key with another number of parts.
    mutating func check(_ name: ObjectName) throws {
        try table(name.folded.entity, of: name).entity.check(name.key)
    }

    /// Whether the table of an object is there, and tracked.
    mutating func isTracked(_ name: ObjectName) throws -> Bool {
        do {
            _ = try table(name.folded.entity, of: name)
            return true
        } catch let error as SyncError where error.code == .unknownEntity {
            return false
        }
    }

    private mutating func table(_ folded: String, of name: ObjectName) throws -> Table {
        if let known = tables[folded] { return known }
        let entity = try reader.presentEntity(name.entity)
        let table = try Table(entity, on: reader.connection)
        tables[folded] = table
        return table
    }

    /// The objects as they were just after the transaction of a token, for each that was begun.
    ///
    /// - Complexity: O(changes of the objects since), and what is not digested yet.
    func takenBack(to token: Token, by scan: HistoryScan) throws -> (ObjectName) -> PastObject {
        var rows = rows
        var query = HistoryQuery()
        query.objects = Set(rows.keys)
        query.after = token
        query.reverse = true
        try scan.run(query) { transaction in
            for change in transaction.changes.reversed() {
                rows[ObjectName(foldedNameOf: change.object)]?.takeBack(change)
            }
            return true
        }
        return { [tables] name in
            let folded = name.folded
            guard let row = rows[folded], let entity = tables[folded.entity]?.entity else {
                return PastObject(isPresent: false)
            }
            return row.object(columns: entity.columnNames, key: entity.layout.key)
        }
    }
}

extension PastRows.Table {
    fileprivate init(_ entity: TrackedEntity, on connection: OpaquePointer) throws {
        let present = try SchemaReader.columnNames(of: entity.name, on: connection)
        columns = entity.columnNames.filter { present.contains(SQLName.folded($0)) }
        let names = columns.map(SQLName.quoted).joined(separator: ", ")
        let condition = entity.layout.key.map { SQLName.quoted($0) + " IS ?" }
        self.entity = entity
        select = try Statement(
            "SELECT \(names) FROM \(SQLName.quoted(entity.name)) WHERE "
                + condition.joined(separator: " AND "), on: connection)
    }

    /// The present row of an object.
    fileprivate func row(key: ObjectKey) throws -> PastRow {
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return PastRow(nil) }
        return PastRow(
            NamedValues(
                columns.enumerated().map {
                    .init(name: $1, value: select.value(Int32($0)))
                }))
    }
}

/// A row on its way back in time; nil values are unknown.
private struct PastRow {
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
    func presentEntity(_ name: String) throws -> TrackedEntity {
        let folded = SQLName.folded(name)
        if let entity = catalog.present.first(where: { $0.folded == folded }),
            // Another program may have dropped or renamed it.
            try SchemaReader.hasTable(entity.name, on: connection)
        {
            return entity
        }
        try catalog.reload()
        guard let entity = catalog.present.first(where: { $0.folded == folded }) else {
            throw SyncError.unknownEntity(name, among: catalog.present.map(\.name))
        }
        return entity
    }
}
