import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Compares the store's schema with that of a database.
///
/// Identities decide what is the same table or column, names what is the same object of another
/// kind: first the names of the store are taken over, then names are compared. Of a schema without
/// identities, as earlier programs state it, names alone are known; where something was renamed, a
/// table or column that is not here may be one that is here under another name, and is named, not
/// made.
struct SchemaComparing {
    private typealias Change = SchemaComparison.Change
    private typealias Difference = SchemaComparison.Difference

    /// What is called how here.
    struct Names {
        /// The identities of the tracked tables.
        var own: SchemaNames
        /// Whether a replica has other names for tables or columns than facts have.
        var isRenamed: Bool
        /// Whether the replica whose schema it is may not have known the names here.
        var isConcurrent: Bool
    }

    private let theirs: SchemaContent
    private let review: SchemaReview
    private let present: SchemaContent
    private let recordsNewTables: Bool
    private let names: Names
    /// The identities of the store's tables; nil: not known.
    private let identities: SchemaNames?
    private let trial: SchemaTrial
    /// This database, with the names of the store.
    private var ours: [SchemaObject]
    private var tables: [TableSchema]
    private var own: SchemaNames
    private var result: SchemaComparison

    /// - Parameter consents: whether the user agreed to what needs consent.
    /// - Throws: SQLite errors.
    init(
        _ schema: SchemaRecord, consenting consents: Bool, in database: Database, names: Names
    ) throws {
        self.names = names
        theirs = schema.content
        review = try SchemaReview(schema.content, consents: consents)
        present = try PresentSchema(database).content()
        ours = present.objects
        tables = try SchemaReader(database).tables()
        own = names.own.living(in: ours.filter(\.isTracked).map(\.name))
        recordsNewTables = try Metadata(database).recordsNewTables()
        let tracked = Set(theirs.objects.filter(\.isTracked).map { SQLName.folded($0.name) })
        let stated = review.tables.filter { tracked.contains(SQLName.folded($0.name)) }
        identities = theirs.names.map {
            SchemaNames($0, tables: stated).living(in: stated.map(\.name))
        }
        trial = try SchemaTrial(present)
        result = SchemaComparison(
            source: schema.dot.replica, time: Timestamp(milliseconds: schema.time))
    }

    /// - Throws: `internalFault`.
    /// - Complexity: O(schema)
    mutating func run() throws -> SchemaComparison {
        defer { trial.close() }
        try takeNames()
        for object in review.accepted where object.kind == .table { try compareTable(object) }
        for object in review.accepted where object.kind != .table { compare(object) }
        let order: [Change.Kind] = [
            .renameTable, .renameColumn, .newTable, .newUntrackedTable, .newColumn, .track,
            .newVirtualTable, .newIndex, .newView, .newTrigger,
        ]
        result.changes = order.flatMap { kind in result.changes.filter { $0.kind == kind } }
        result.refused = review.refused.filter { present($0.object) == nil }
        try leaveOutWhatFails()
        let names = Set(theirs.objects.map(Self.name))
        result.onlyHere +=
            ours.filter { !names.contains(Self.name($0)) && ($0.kind != .table || $0.isTracked) }
            .map { "\($0.kind.word) \($0.name)" }
        if theirs.settings.userVersion != present.settings.userVersion {
            result.userVersion = theirs.settings.userVersion
        }
        return result
    }

    private static func name(_ object: SchemaObject) -> String {
        let isTable = [.table, .view, .virtualTable].contains(object.kind)
        return (isTable ? "" : object.kind.word) + " " + SQLName.folded(object.name)
    }

    private func present(_ object: SchemaObject) -> SchemaObject? {
        ours.first { Self.name($0) == Self.name(object) }
    }

    // MARK: Renames

    /// Compares under the names that the store has for what is here.
    private mutating func takeNames() throws {
        guard let identities else { return }
        let named = ours.filter { $0.kind != .index && $0.kind != .trigger }.map(\.name)
        let columns = { [tables] (name: String) in
            tables.first { SQLName.isEqual($0.name, to: name) }?.columns.map(\.name) ?? []
        }
        let renames = SchemaRenames(
            to: identities, from: own, taken: named, columns: columns,
            isConcurrent: names.isConcurrent)
        result.differences += renames.differences
        guard !renames.changes.isEmpty else { return }
        if let reason = try trial.run(renames.changes) {
            result.differences += renames.changes.map {
                Difference(
                    name: $0.name,
                    reason: "the store calls it otherwise, and SQLite refuses to "
                        + "rename it: \(reason)", remedy: $0.sql)
            }
            return
        }
        result.changes += renames.changes
        own = renames.names
        ours = try trial.objects(
            tracked: Set(own.entities.compactMap(\.name).map(SQLName.folded)))
        tables = try trial.tables()
    }

    /// The identity of a table of the store, where that is known.
    private func identity(of object: SchemaObject) -> String? {
        object.isTracked ? identities?.identity(ofTable: object.name) : nil
    }

    private mutating func differ(_ name: String, _ reason: String, remedy: String?) {
        result.differences.append(Difference(name: name, reason: reason, remedy: remedy))
    }

    // MARK: Tables

    private mutating func compareTable(_ object: SchemaObject) throws {
        guard let own = present(object) else { return compareMissing(object) }
        guard own.kind == .table else { return differ(object, from: own) }
        guard let here = tables.first(where: { SQLName.isEqual($0.name, to: object.name) }),
            let there = review.tables.first(where: { SQLName.isEqual($0.name, to: object.name) })
        else { return }
        if own.isTracked, let identity = identity(of: object),
            !SQLName.isEqual(self.own.identity(ofTable: own.name), to: identity)
        {
            return differ(
                object.name, "the table here is another one of this name, by its history",
                remedy: "rename or drop the one that is here")
        }
        let comparing = TableComparing(theirs: there, ours: here)
        var added: Set<String> = []
        for column in comparing.newColumns where try add(column, of: there, to: here) {
            added.insert(column.name)
        }
        for column in there.storedColumns { compareIdentity(of: column.name, in: there) }
        result.differences += comparing.differences(adding: added)
        if object.isTracked { result.onlyHere += comparing.columnsOnlyHere.map { "column \($0)" } }
        if object.isTracked, !own.isTracked {
            result.changes.append(Change(kind: .track, name: object.name, sql: "", object: nil))
        }
    }

    private mutating func compareMissing(_ object: SchemaObject) {
        if !object.isTracked, recordsNewTables, isTrackable(object) {
            return differ(
                object.name, "the table is not tracked there, and this store tracks each new one",
                remedy: nil)
        }
        if let identity = identity(of: object) {
            // It is here, under a name that it has to keep.
            if own.entity(identity) != nil { return }
        } else if names.isRenamed, object.isTracked {
            return differ(
                object.name, "the table is new there, or one of this database with another name",
                remedy: "ALTER TABLE … RENAME TO \(SQLName.quoted(object.name)) where it "
                    + "was renamed; otherwise \(object.sql)")
        }
        result.changes.append(
            Change(
                kind: object.isTracked ? .newTable : .newUntrackedTable, name: object.name,
                sql: object.sql, object: object))
    }

    private func isTrackable(_ object: SchemaObject) -> Bool {
        review.tables.first { SQLName.isEqual($0.name, to: object.name) }
            .map { Tracker.reasonToLeaveAlone($0) == nil } ?? false
    }

    // MARK: Columns

    /// A column of the store that is called like one here and is another one.
    private mutating func compareIdentity(of column: String, in table: TableSchema) {
        guard let identities, own.hasTable(table.name),
            let here = own.entity(own.identity(ofTable: table.name)),
            let mine = here.columns.first(where: {
                $0.name.map { SQLName.isEqual($0, to: column) } ?? false
            })
        else { return }
        let identity = identities.identity(ofColumn: column, table: table.name)
        guard !SQLName.isEqual(mine.identity, to: identity) else { return }
        differ(
            "\(table.name).\(column)",
            "the column here is another one of this name, by its history",
            remedy: "rename or drop the one that is here")
    }

    private mutating func add(
        _ column: ColumnSchema, of there: TableSchema, to here: TableSchema
    ) throws -> Bool {
        let name = "\(here.name).\(column.name)"
        guard let added = AddedColumn(column.name, of: there, to: here.name) else { return false }
        if let identities, own.hasTable(here.name) {
            let entity = own.identity(ofTable: here.name)
            let identity = identities.identity(ofColumn: column.name, table: there.name)
            if let mine = own.column(identity, of: entity) {
                // One that is here under another name was named with the renames.
                guard mine.name == nil else { return false }
                differ(
                    name, "the column was dropped here, and is there",
                    remedy: "drop it there too; added here it would be another column")
                return false
            }
        } else if names.isRenamed {
            differ(
                name, "the column is new there, or one of this table with another name",
                remedy: "ALTER TABLE \(SQLName.quoted(here.name)) RENAME COLUMN … TO "
                    + "\(SQLName.quoted(column.name)) where it was renamed; otherwise "
                    + added.sql)
            return false
        }
        if let reason = try added.objection(with: here) {
            differ(
                name, "the column cannot be added: \(reason)",
                remedy: "rebuild the table in one transaction (synctool alter), as: \(there.sql)")
            return false
        }
        result.changes.append(Change(kind: .newColumn, name: name, sql: added.sql, object: nil))
        return true
    }

    // MARK: Other objects

    private mutating func compare(_ object: SchemaObject) {
        if let own = present(object) {
            if own.kind != object.kind
                || TableComparing.normal(own.sql) != TableComparing.normal(object.sql)
            {
                differ(object, from: own)
            }
            return
        }
        let kind: Change.Kind =
            switch object.kind {
            case .table: .newTable
            case .index: .newIndex
            case .view: .newView
            case .trigger: .newTrigger
            case .virtualTable: .newVirtualTable
            }
        result.changes.append(
            Change(kind: kind, name: object.name, sql: object.sql, object: object))
    }

    private mutating func differ(_ object: SchemaObject, from own: SchemaObject) {
        let kind = own.kind == .virtualTable ? "TABLE" : own.kind.word.uppercased()
        let isTable = own.kind == .table
        differ(
            object.name, "the \(own.kind.word) here is not the \(object.kind.word) of the store",
            remedy: isTable
                ? "rename the table here"
                : "to take the other one, first: DROP \(kind) \(SQLName.quoted(own.name))")
    }

    /// What depends on something that is not made, as an index of a table that is left out, cannot
    /// be made either.
    private mutating func leaveOutWhatFails() throws {
        guard trial.isComplete, !result.changes.isEmpty else { return }
        for failed in try trial.apply(result) {
            result.changes.removeAll {
                failed.isColumn
                    ? $0.kind == .newColumn && $0.name == failed.name : $0.object == failed.object
            }
            differ(
                failed.name, "the \(failed.kind) needs what is not here: \(failed.reason)",
                remedy: "bring about the other differences first, then: \(failed.sql)")
        }
    }
}
