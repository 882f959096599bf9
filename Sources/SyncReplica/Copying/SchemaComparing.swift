import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Compares the store's schema with that of a database.
///
/// Names decide what is the same object. Where tables or columns of the store were renamed, a table
/// or column that is not here may be one that is here under another name: it is named, not made.
struct SchemaComparing {
    private typealias Change = SchemaComparison.Change
    private typealias Difference = SchemaComparison.Difference

    private let theirs: SchemaContent
    private let review: SchemaReview
    private let ours: SchemaContent
    private let tables: [TableSchema]
    private let recordsNewTables: Bool
    private let isRenamed: Bool
    private var result: SchemaComparison

    /// - Parameters:
    ///   - consents: whether the user agreed to what needs consent.
    ///   - isRenamed: whether a replica has other names for tables or columns than facts have.
    /// - Throws: SQLite errors.
    init(
        _ schema: SchemaRecord, consenting consents: Bool, in database: Database, isRenamed: Bool
    ) throws {
        self.isRenamed = isRenamed
        theirs = schema.content
        review = try SchemaReview(schema.content, consents: consents)
        ours = try PresentSchema(database).content()
        tables = try SchemaReader(database).tables()
        recordsNewTables = try Metadata(database).recordsNewTables()
        result = SchemaComparison(
            source: schema.dot.replica, time: Timestamp(milliseconds: schema.time))
    }

    /// - Throws: `internalFault`.
    /// - Complexity: O(schema)
    mutating func run() throws -> SchemaComparison {
        for object in review.accepted where object.kind == .table { try compareTable(object) }
        for object in review.accepted where object.kind != .table { compare(object) }
        let order: [Change.Kind] = [
            .newTable, .newUntrackedTable, .newColumn, .track, .newVirtualTable, .newIndex,
            .newView,
            .newTrigger,
        ]
        result.changes = order.flatMap { kind in result.changes.filter { $0.kind == kind } }
        result.refused = review.refused.filter { present($0.object) == nil }
        let names = Set(theirs.objects.map(Self.name))
        result.onlyHere +=
            ours.objects.filter {
                !names.contains(Self.name($0)) && ($0.kind != .table || $0.isTracked)
            }
            .map { "\($0.kind.word) \($0.name)" }
        if theirs.settings.userVersion != ours.settings.userVersion {
            result.userVersion = theirs.settings.userVersion
        }
        return result
    }

    private static func name(_ object: SchemaObject) -> String {
        let isTable = [.table, .view, .virtualTable].contains(object.kind)
        return (isTable ? "" : object.kind.word) + " " + SQLName.folded(object.name)
    }

    private func present(_ object: SchemaObject) -> SchemaObject? {
        ours.objects.first { Self.name($0) == Self.name(object) }
    }

    // MARK: Tables

    private mutating func compareTable(_ object: SchemaObject) throws {
        guard let own = present(object) else {
            if !object.isTracked, recordsNewTables, isTrackable(object) {
                result.differences.append(
                    Difference(
                        name: object.name,
                        reason:
                            "the table is not tracked there, and this store tracks each new one",
                        remedy: nil))
                return
            }
            if isRenamed, object.isTracked {
                result.differences.append(
                    Difference(
                        name: object.name,
                        reason: "the table is new there, or one of this database with another name",
                        remedy: "ALTER TABLE … RENAME TO \(SQLName.quoted(object.name)) where it "
                            + "was renamed; otherwise \(object.sql)"))
                return
            }
            result.changes.append(
                Change(
                    kind: object.isTracked ? .newTable : .newUntrackedTable, name: object.name,
                    sql: object.sql, object: object))
            return
        }
        guard own.kind == .table else { return differ(object, from: own) }
        guard let here = tables.first(where: { SQLName.isEqual($0.name, to: object.name) }),
            let there = review.tables.first(where: { SQLName.isEqual($0.name, to: object.name) })
        else { return }
        let comparing = TableComparing(theirs: there, ours: here)
        var added: Set<String> = []
        for column in comparing.newColumns where try add(column, of: there, to: here) {
            added.insert(column.name)
        }
        result.differences += comparing.differences(adding: added)
        if object.isTracked { result.onlyHere += comparing.columnsOnlyHere.map { "column \($0)" } }
        if object.isTracked, !own.isTracked {
            result.changes.append(Change(kind: .track, name: object.name, sql: "", object: nil))
        }
    }

    private func isTrackable(_ object: SchemaObject) -> Bool {
        review.tables.first { SQLName.isEqual($0.name, to: object.name) }
            .map { Tracker.reasonToLeaveAlone($0) == nil } ?? false
    }

    private mutating func add(
        _ column: ColumnSchema, of there: TableSchema, to here: TableSchema
    ) throws -> Bool {
        let name = "\(here.name).\(column.name)"
        guard let added = AddedColumn(column.name, of: there, to: here.name) else { return false }
        if isRenamed {
            result.differences.append(
                Difference(
                    name: name,
                    reason: "the column is new there, or one of this table with another name",
                    remedy: "ALTER TABLE \(SQLName.quoted(here.name)) RENAME COLUMN … TO "
                        + "\(SQLName.quoted(column.name)) where it was renamed; otherwise "
                        + added.sql))
            return false
        }
        if let reason = try added.objection(with: here) {
            result.differences.append(
                Difference(
                    name: name, reason: "the column cannot be added: \(reason)",
                    remedy: "rebuild the table with it: \(added.sql) is refused by SQLite"))
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
        result.differences.append(
            Difference(
                name: object.name,
                reason: "the \(own.kind.word) here is not the \(object.kind.word) of the store",
                remedy: isTable
                    ? "rename the table here"
                    : "to take the other one, first: DROP \(kind) \(SQLName.quoted(own.name))"))
    }
}
