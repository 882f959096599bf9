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
    /// What the rest of the schema means for the table.
    let context: CaptureContext.Table

    /// The version of the texts. Raised when they change, so that the triggers of existing stores
    /// are created again (``Tracker/verify(thoroughly:)``). 1 had no `_b` and no `_s`; the names of
    /// 2 ended with the letter.
    static let version: Int64 = 3

    /// Now, the same for all rows of one statement. The only clock that a trigger has.
    static let now = "julianday('now')"

    /// A trigger: its name and its CREATE statement.
    struct Trigger: Equatable {
        var name: String
        var sql: String
    }

    var all: [Trigger] {
        [
            insert, guardInsert, update, keyUpdate, guardUpdate, drainUpdate, drainDelete, delete,
            deleting,
        ].compactMap { $0 }
    }

    // MARK: The triggers

    /// One statement for the victims and the first row of the insert: a second one would cost each
    /// insert a tenth more.
    private var insert: Trigger {
        let rows = logRows(.insert, values: keyValues("NEW"))
        return trigger(
            "i", on: "AFTER INSERT", when: nil,
            body: (clashesInKeyAlone
                ? logSameKey(before: rows[0]) : drain(isInsert: true, before: rows[0]))
                + rows.dropFirst().map(\.statement))
    }

    private var update: Trigger? {
        guard !changeable.isEmpty else { return nil }
        let values =
            keyValues("NEW") + furtherMasks.map { $0.expression }
            + (layout.undo ? oldValues : [])
        return trigger(
            "u", on: "AFTER UPDATE", when: "\(sameKey("OLD", as: "NEW")) AND \(isChanged)",
            body: logRows(.update, values: values, mask: masks[0].expression).enumerated().map {
                number, row in
                guard isWide else { return row.statement }
                return row.statement(from: masksUsed(inRow: number))
            })
    }

    /// A change of the key: the old object is deleted, a new one inserted, and the row between says
    /// that they are the same row.
    private var keyUpdate: Trigger {
        let deleted = logRows(.delete, values: deletedValues("OLD"))
        let victimsAndFirst =
            clashesInKeyAlone
            ? logSameKey(before: deleted[0]) : drain() + [deleted[0].statement]
        return trigger(
            "k", on: "AFTER UPDATE OF \(updateColumns(keyColumnNames))",
            when: otherKey("OLD", than: "NEW"),
            body: [forgetGuard()] + victimsAndFirst + deleted.dropFirst().map(\.statement)
                + log(.renumber, values: keyValues("OLD") + keyValues("NEW"))
                + log(.insert, values: keyValues("NEW")))
    }

    /// `m` is 1 where ``deleting`` logged the begin.
    private var delete: Trigger {
        trigger(
            "d", on: "AFTER DELETE", when: nil,
            body: [forgetGuard()]
                + log(
                    .delete, values: deletedValues("OLD"), mask: context.isParent ? "1" : nil))
    }

    /// What the delete takes along is logged between this and ``delete``: see ``OpenDeletes``.
    ///
    /// Another form, a look in the child's trigger whether the parent is gone, would name the
    /// parent's table there: then `DROP TABLE` of the parent makes every delete of a child fail,
    /// and the usual rebuild of the parent fails at its `RENAME`.
    private var deleting: Trigger? {
        guard context.isParent else { return nil }
        return trigger(
            "b", on: "BEFORE DELETE", when: nil, body: log(.deleting, values: keyValues("OLD")))
    }

    func trigger(
        _ letter: Character, on event: String, when: String?, body: [String]
    ) -> Trigger {
        let name = TriggerName(entity: entity, letter: letter).text
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
            guard cells.count < Self.cellsNamedMax else {
                return "INSERT INTO \(LogTable.name) VALUES(\(all.joined(separator: ", ")))"
            }
            return "INSERT INTO \(LogTable.name)(\(cells.map(\.column).joined(separator: ", "))) "
                + "VALUES(\(cells.map(\.value).joined(separator: ", ")))"
        }

        /// With this many, a value for each column is less for SQLite to parse than their names.
        private static let cellsNamedMax = 7

        /// A value for each column of the log.
        private var all: [String] {
            LogTable.columns.map { name in cells.first { $0.column == name }?.value ?? "NULL" }
        }

        /// The statement with its values from a SELECT.
        func statement(from source: String) -> String {
            "INSERT INTO \(LogTable.name)(\(cells.map(\.column).joined(separator: ", "))) "
                + "SELECT \(cells.map(\.value).joined(separator: ", "))\(source)"
        }

        /// A SELECT of it that an INSERT without names of columns takes. SQLite needs fewer
        /// instructions for such an INSERT than for one with names.
        func select() -> String { "SELECT \(all.joined(separator: ", "))" }
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
        layout.key.map { "\(Self.prefix(row))\(SQLName.quoted($0))" }
    }

    func deletedValues(_ row: String) -> [String] {
        keyValues(row)
            + layout.kept.map { "\(Self.prefix(row))\(SQLName.quoted(layout.columns[$0]))" }
    }

    /// `OLD.`; nothing for the only row that a name can mean.
    static func prefix(_ row: String) -> String {
        row.isEmpty || row.hasSuffix(".") ? row : row + "."
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
