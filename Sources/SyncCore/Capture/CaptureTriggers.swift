import SyncStorage

/// The triggers that record one entity: SQL text made from the table's schema and its layout.
///
/// Invariants that the triggers keep together:
/// - Each row that is inserted, changed or deleted in the table leaves one group of log rows in the
///   same statement, also when REPLACE removes it without any delete trigger.
/// - A row of `syncd_guard` for a key says that the object existed when the row was written and
///   that no delete of it was logged since. So, when the object is missing, REPLACE removed it.
/// - No statement fails because of the triggers: they use no constraint, no user function and no
///   table of another file.
package struct CaptureTriggers {
    let entity: Int64
    let table: TableSchema
    let layout: CaptureLayout
    /// A user trigger writes to this table, so that one statement on it can run inside
    /// another: the guard must then hold the victims of several.
    let isNested: Bool

    /// Now, the same for all rows of one statement. The only clock that a trigger has.
    static let now = "julianday('now')"

    /// A trigger: its name and its CREATE statement.
    struct Trigger: Equatable {
        var name: String
        var sql: String
    }

    var all: [Trigger] {
        [
            insert, guardInsert, update, keyUpdate, guardUpdate, drainUpdate, delete,
        ].compactMap { $0 }
    }

    // MARK: The triggers

    /// One statement for the victims and the first row of the insert: a second one would cost each
    /// insert a tenth more.
    private var insert: Trigger {
        let rows = logRows(.insert, values: keyValues("NEW"))
        return trigger(
            "i", on: "AFTER INSERT", when: nil,
            body: (clashesInKeyAlone ? logSameKey(before: rows[0]) : drain(before: rows[0]))
                + rows.dropFirst().map(\.statement))
    }

    private var update: Trigger? {
        guard !changeable.isEmpty else { return nil }
        let changed = Self.anyOf(changeable.map { differs($0.column) })
        return trigger(
            "u", on: "AFTER UPDATE", when: "\(sameKey("OLD", as: "NEW")) AND (\(changed))",
            body: log(
                .update,
                values: keyValues("NEW") + masks.dropFirst() + (layout.undo ? oldValues : []),
                mask: masks[0]))
    }

    /// A change of the key: the old object is deleted, a new one inserted, and the row between says
    /// that they are the same row.
    private var keyUpdate: Trigger {
        trigger(
            "k", on: "AFTER UPDATE OF \(updateColumns(keyColumnNames))",
            when: "NOT (\(sameKey("OLD", as: "NEW")))",
            body: [forgetGuard()] + drain() + log(.delete, values: deletedValues("OLD"))
                + log(.renumber, values: keyValues("OLD") + keyValues("NEW"))
                + log(.insert, values: keyValues("NEW")))
    }

    private var delete: Trigger {
        trigger(
            "d", on: "AFTER DELETE", when: nil,
            body: [forgetGuard()] + log(.delete, values: deletedValues("OLD")))
    }

    func trigger(
        _ suffix: String, on event: String, when: String?, body: [String]
    ) -> Trigger {
        let name = "syncd_\(entity)_\(suffix)"
        let condition = when.map { " WHEN \($0)" } ?? ""
        let statements = body.map { "  \($0);\n" }.joined()
        return Trigger(
            name: name,
            sql: "CREATE TRIGGER \(name) \(event) ON \(SQLName.quoted(table.name))\(condition) "
                + "BEGIN\n\(statements)END")
    }

    // MARK: Log rows

    /// A row of the log: its expressions by column; the columns that are missing are NULL.
    struct LogRow {
        var cells: [(column: String, value: String)]

        var statement: String {
            "INSERT INTO \(LogTable.name)(\(cells.map(\.column).joined(separator: ", "))) "
                + "VALUES(\(cells.map(\.value).joined(separator: ", ")))"
        }

        /// A SELECT of it that fits under others of these columns.
        func select(_ columns: [String]) -> String {
            let values = columns.map { name in
                cells.first { $0.column == name }?.value ?? "NULL"
            }
            return "SELECT \(values.joined(separator: ", "))"
        }
    }

    /// The statements that append one value list, seven values a row.
    private func log(_ kind: LogKind, values: [String], mask: String? = nil) -> [String] {
        logRows(kind, values: values, mask: mask).map(\.statement)
    }

    private func logRows(_ kind: LogKind, values: [String], mask: String? = nil) -> [LogRow] {
        Self.chunks(values).enumerated().map { number, chunk in
            let isFirst = number == 0
            var cells = [("op", String((isFirst ? kind : .continued).op(entity)))]
            if isFirst {
                if let mask { cells.append(("m", mask)) }
                cells.append(("ts", Self.now))
            }
            return LogRow(cells: cells + zip(Self.valueColumns, chunk))
        }
    }

    static let valueColumns = ["pk", "v0", "v1", "v2", "v3", "v4", "v5"]

    static func chunks(_ values: [String]) -> [[String]] {
        stride(from: 0, to: values.count, by: CaptureLayout.valuesPerRow).map {
            Array(values[$0..<min($0 + CaptureLayout.valuesPerRow, values.count)])
        }
    }

    // MARK: Values

    func keyValues(_ row: String) -> [String] {
        layout.key.map { "\(row).\(SQLName.quoted($0))" }
    }

    func deletedValues(_ row: String) -> [String] {
        keyValues(row) + layout.kept.map { "\(row).\(SQLName.quoted(layout.columns[$0]))" }
    }

    private var oldValues: [String] {
        let bits = Set(changeable.map(\.bit))
        return table.storedColumns.enumerated().map { bit, column in
            guard bits.contains(bit) else { return "NULL" }
            return "CASE WHEN \(differs(column)) THEN OLD.\(SQLName.quoted(column.name)) END"
        }
    }

    /// The columns that can differ in an update that keeps the key.
    private var changeable: [(bit: Int, column: ColumnSchema)] {
        let key = Set(layout.key.map(SQLName.folded))
        return table.storedColumns.enumerated()
            .filter { !key.contains(SQLName.folded($0.element.name)) }
            .map { ($0.offset, $0.element) }
    }

    /// One integer for each 63 columns. Each term has its own parentheses: `|` and `<<` have the
    /// same precedence in SQLite.
    private var masks: [String] {
        (0...layout.furtherMasks).map { number in
            let first = number * ColumnMask.bitsPerWord
            let terms = changeable.filter { $0.bit / ColumnMask.bitsPerWord == number }
                .map { bit, column in
                    bit == first ? differs(column) : "(\(differs(column))<<\(bit - first))"
                }
            return terms.isEmpty ? "0" : terms.joined(separator: "|")
        }
    }

    // MARK: Comparisons

    /// The column's value differs between OLD and NEW: in its bytes or in its type.
    private func differs(_ column: ColumnSchema) -> String {
        let name = SQLName.quoted(column.name)
        return "(" + Self.differ("OLD.\(name)", from: "NEW.\(name)", in: column) + ")"
    }

    /// `IS NOT` compares under the column's collation, and treats 1 and 1.0 as equal: both are
    /// different values here. Where a column has an affinity, equal values are of one type.
    static func differ(_ left: String, from right: String, in column: ColumnSchema) -> String {
        let collation = column.comparesBinary ? "" : " COLLATE BINARY"
        let values = "\(left)\(collation) IS NOT \(right)"
        return column.isUntyped ? "\(values) OR typeof(\(left)) IS NOT typeof(\(right))" : values
    }

    static func same(_ left: String, as right: String, in column: ColumnSchema) -> String {
        let collation = column.comparesBinary ? "" : " COLLATE BINARY"
        let values = "\(left)\(collation) IS \(right)"
        return column.isUntyped ? "\(values) AND typeof(\(left)) IS typeof(\(right))" : values
    }

    /// The key of both rows is the same, byte for byte.
    func sameKey(_ left: String, as right: String) -> String {
        table.keyColumns.map { column in
            let name = SQLName.quoted(column.name)
            return Self.same("\(left).\(name)", as: "\(right).\(name)", in: column)
        }.joined(separator: " AND ")
    }

    /// The terms of one group in ``anyOf(_:)``.
    private static let alternativesMax = 63

    /// OR of all terms, in groups: SQLite limits the depth of an expression to 1,000.
    static func anyOf(_ terms: [String]) -> String {
        guard terms.count > alternativesMax else {
            return terms.joined(separator: " OR ")
        }
        return stride(from: 0, to: terms.count, by: alternativesMax).map {
            let group = terms[$0..<min($0 + alternativesMax, terms.count)]
            return "(\(group.joined(separator: " OR ")))"
        }.joined(separator: " OR ")
    }

    // MARK: Columns of an UPDATE

    var keyColumnNames: [String] { layout.key }

    /// The names for `UPDATE OF`. SQLite compares only the names in SET, so that the names of the
    /// rowid are added: they are other names of an integer key.
    func updateColumns(_ names: [String]) -> String {
        var all = names.map(SQLName.quoted)
        if !table.isWithoutRowID {
            all += TableSchema.rowIDNames.filter { table.column($0) == nil }
        }
        return all.joined(separator: ", ")
    }
}
