import SyncStorage

/// The REPLACE guard: `INSERT OR REPLACE` and `UPDATE OR REPLACE` remove rows without any delete
/// trigger (unless recursive_triggers is on). A BEFORE trigger keeps in `syncd_guard` what the new
/// row clashes with; the AFTER trigger logs those of them that are gone.
///
/// What makes it right in every case:
/// - OR IGNORE, UPSERT and RAISE(IGNORE) leave guard rows behind whose object still exists: stale
///   rows. They are ignored, because the object exists; the next clash deletes them.
/// - A stale row would be wrong after an ordinary delete of its object: so the delete trigger and
///   the key update trigger delete the guard row of their object.
/// - An insert with the key of a guard row, or a missing object, proves a REPLACE.
extension CaptureTriggers {
    /// The number of guard rows that are kept at a clash when statements on the table can nest.
    static let nestedGuardRowsMax = 64

    /// A guard row from before this time belongs to no running statement.
    static let guardAgeMax = "julianday('now', '-86 seconds')"

    /// The prefix of the table's columns where other names could be meant. Without it a name is one
    /// term of SQLite's parser instead of three, at every opening of the database.
    private static let tablePrefix = "syncd_t."

    /// One way in which a new row can replace an old one.
    private struct Clash {
        /// A condition on `syncd_t`, the table, and NEW.
        var condition: String
        /// The columns whose change can lead to it; nil when any may.
        var columns: [String]?
        /// What holds of NEW where an insert can lead to it; nil: nothing needs to.
        var ofInsert: String?
        /// The clash is in the rowid, which is not the key.
        var isInRowID = false
    }

    var guardInsert: Trigger? {
        func condition(_ clash: Clash, _ condition: String) -> String {
            (clash.ofInsert.map { "\($0) AND " } ?? "") + condition
        }
        return trigger(
            "g", on: "BEFORE INSERT",
            when: alternatives(clashes().map { condition($0, exists($0.condition)) }),
            body: [deleteOldGuards] + keepVictims { clash, _ in condition(clash, clash.condition) })
    }

    var guardUpdate: Trigger? {
        if clashesInKeyAlone {
            // Another row has the new key: a look for it in the condition would be the second.
            return trigger(
                "h", on: "BEFORE UPDATE\(updateOf)", when: isRewritten(table.key),
                body: (context.reachesItself ? keepUpdated : [])
                    + ["DELETE FROM syncd_guard WHERE e = \(entity)"]
                    + keepVictims { clash, _ in clash.condition })
        }
        let when = clashes().map { clash in
            let isOther = otherKey("", than: "OLD")
            // Another row has the new values only where they are new.
            guard let names = clash.isInRowID ? table.rowIDName.map({ [$0] }) : clash.columns
            else { return exists("\(clash.condition) AND \(isOther)") }
            return "\(isRewritten(names)) AND \(exists(clash.condition))"
        }
        return trigger(
            "h", on: "BEFORE UPDATE\(updateOf)", when: alternatives(when),
            body: (context.reachesItself ? keepUpdated : []) + [deleteOldGuards]
                + keepVictims { clash, prefix in
                    "\(clash.condition) AND \(otherKey(prefix, than: "OLD"))"
                })
    }

    /// Any of the columns differs in its bytes between OLD and NEW. A change of type alone is none:
    /// indexes take equal numbers as equal.
    private func isRewritten(_ names: [String]) -> String {
        let rows = ["OLD", "NEW"].map { row in
            Self.row(
                names.map { name in
                    let column = table.column(name)
                    let isBinary = column?.comparesBinary ?? true
                    return "\(row).\(SQLName.quoted(name))\(isBinary ? "" : " COLLATE BINARY")"
                })
        }
        return rows.joined(separator: " IS NOT ")
    }

    private func alternatives(_ conditions: [String]) -> String {
        conditions.count == 1
            ? conditions[0] : Self.tree(conditions.map { "(\($0))" }, of: "OR")
    }

    /// Updates that keep the key and push another row out by a UNIQUE index. Whether it runs before
    /// or after the update is logged makes no difference: the victim is another object. A key
    /// update is not for it: there the guard must first forget the old key.
    var drainUpdate: Trigger? {
        guard table.uniqueIndexes.contains(where: { $0.origin != .primaryKey }) || usesRowID
        else { return nil }
        return trigger(
            "r", on: "AFTER UPDATE\(updateOf)",
            when: "\(sameKey("OLD", as: "NEW")) "
                + "AND EXISTS(SELECT 1 FROM syncd_guard WHERE e = \(entity))",
            body: drain(rowIsNew: false))
    }

    // MARK: Victims that take the updated row along

    /// An UPDATE OR REPLACE whose victims take the updated row along, by a cascade, ends there: no
    /// AFTER UPDATE trigger runs. So the updated row's delete logs the victims. It knows the row by
    /// a row of the guard that has the entity's number negated. ``delete`` is created later, and
    /// so runs before it: the guard has forgotten the deleted row.
    var drainDelete: Trigger? {
        guard context.reachesItself else { return nil }
        return trigger(
            "s", on: "AFTER DELETE",
            when: "EXISTS(SELECT 1 FROM syncd_guard WHERE e = \(-entity) "
                + "AND \(guardHasKey(of: "OLD")))",
            body: [
                logVictims(isSame: "0", where: "ts IS \(Self.now) AND \(isMissing)", before: nil),
                "DELETE FROM syncd_guard WHERE e = \(entity) AND \(isMissing)",
                "DELETE FROM syncd_guard WHERE e = \(-entity)",
            ])
    }

    private var keepUpdated: [String] {
        let keys = keyValues("OLD")
        let targets = keys.indices.map { "k\($0)" }.joined(separator: ", ")
        return [
            "DELETE FROM syncd_guard WHERE e = \(-entity)",
            "INSERT INTO syncd_guard(e, ts, \(targets)) "
                + "VALUES(\(-entity), \(Self.now), \(keys.joined(separator: ", ")))",
        ]
    }

    // MARK: Logging victims

    /// The delete of OLD is logged: its guard row, if any, must not be logged as well.
    func forgetGuard() -> String {
        "DELETE FROM syncd_guard WHERE e = \(entity) AND \(guardHasKey(of: "OLD"))"
    }

    /// Logs the victims that are gone, and drops what is done with or older than this statement.
    ///
    /// - Parameters:
    ///   - rowIsNew: NEW has come to its key by this statement. Then a victim with that key is gone
    ///     though the key is there; otherwise NEW may be that victim, updated by an UPSERT.
    ///   - isInsert: no statement on the table is unfinished but this one, unless statements can
    ///     nest: the actions of foreign keys update and delete, and do not insert. So whatever is
    ///     in the guard is done with.
    ///   - row: what the same statement logs after the victims.
    func drain(
        rowIsNew: Bool = true, isInsert: Bool = false, before row: LogRow? = nil
    ) -> [String] {
        let isSame = guardHasKey(of: "NEW")
        let gone = rowIsNew ? "\(isSame) OR \(isMissing)" : isMissing
        let newest =
            context.isNested
            ? " AND NOT EXISTS(SELECT 1 FROM syncd_guard AS syncd_h WHERE syncd_h.e = \(entity) "
                + "AND syncd_h.i = syncd_guard.i AND syncd_h.rowid > syncd_guard.rowid "
                + "AND \(sameGuardKey))"
            : ""
        return [
            logVictims(isSame: isSame, where: "(\(gone))\(newest)", before: row),
            "DELETE FROM syncd_guard WHERE e = \(entity)"
                + (isInsert && !context.isNested
                    ? "" : " AND (ts IS NOT \(Self.now) OR \(gone))"),
        ]
    }

    /// What ``drain(rowIsNew:)`` does where only the key can clash: the one victim has the key that
    /// the new row has, by an insert or by a change of its key. Its guard row need not go, which
    /// saves a statement for each insert: the object exists, and every statement that removes it
    /// deletes or renews the row first.
    func logSameKey(before row: LogRow) -> [String] {
        [
            logVictims(
                isSame: "1", where: "\(guardHasKey(of: "NEW")) AND ts IS \(Self.now)", before: row)
        ]
    }

    /// The statement that logs the guard rows of a condition, and then `row`.
    private func logVictims(isSame: String, where condition: String, before row: LogRow?) -> String
    {
        let values = Array(Self.valueColumns.prefix(layout.valueCount(.replace)))
        let victim = LogRow(
            cells: victimHead(isSame: isSame) + values.map { (column: $0, value: $0) })
        let from = " FROM syncd_guard WHERE e = \(entity) AND \(condition)"
        let last = row.map { " UNION ALL \($0.select())" } ?? ""
        return "INSERT INTO \(LogTable.name) \(victim.select())\(from)\(last)"
    }

    /// The values of `op`, `m` and `ts` in the log row of a victim.
    private func victimHead(isSame: String) -> [(column: String, value: String)] {
        let op = LogKind.replace.op(entity)
        guard layout.valueCount(.replace) > CaptureLayout.valuesPerRow else {
            return [("op", "\(op)"), ("m", isSame), ("ts", "ts")]
        }
        return [
            ("op", "CASE i WHEN 0 THEN \(op) ELSE \(LogKind.continued.op(entity)) END"),
            ("m", "CASE i WHEN 0 THEN \(isSame) END"), ("ts", "CASE i WHEN 0 THEN ts END"),
        ]
    }

    // MARK: Clashes

    /// A new row can replace only the row with its key.
    var clashesInKeyAlone: Bool {
        table.isIntegerKey && table.uniqueIndexes.isEmpty && !context.isNested
    }

    /// - Parameter prefix: of the table's columns.
    private func clashes(_ prefix: String = "") -> [Clash] {
        var clashes: [Clash] = []
        if table.isIntegerKey, let name = table.key.first.map(SQLName.quoted) {
            clashes.append(Clash(condition: "\(prefix)\(name) = NEW.\(name)", columns: table.key))
        } else if let name = usesRowID ? table.rowIDName : nil {
            // A BEFORE INSERT trigger sees -1 where SQLite will choose the rowid.
            clashes.append(
                Clash(
                    condition: "\(prefix)\(name) = NEW.\(name)", columns: [],
                    ofInsert: "NEW.\(name) <> -1", isInRowID: true))
        }
        return clashes + table.uniqueIndexes.map { clash($0, prefix) }
    }

    /// Rows have a rowid besides the declared key, and REPLACE can clash in it.
    private var usesRowID: Bool { !table.isIntegerKey && table.rowIDName != nil }

    private func clash(_ index: UniqueIndex, _ prefix: String) -> Clash {
        var isPlain = index.condition == nil
        var (old, new, others): ([String], [String], [String]) = ([], [], [])
        for term in index.terms {
            if let expression = term.expression {
                isPlain = false
                others.append("(\(expression)) = \(ofNew(expression))")
                continue
            }
            let column = term.column.flatMap { table.column($0) }
            if column?.isGenerated ?? true { isPlain = false }
            let name = SQLName.quoted(term.column ?? "")
            let collates = SQLName.isEqual(column?.collation ?? "BINARY", to: term.collation)
            let collation = collates ? "" : " COLLATE \(SQLName.quoted(term.collation))"
            old.append("\(prefix)\(name)\(collation)")
            new.append(column?.inserted ?? "NEW.\(name)")
        }
        if let condition = index.condition {
            others += ["(\(condition))", ofNew(condition)]
        }
        let equal = old.isEmpty ? [] : ["\(Self.row(old)) = \(Self.row(new))"]
        return Clash(
            condition: (equal + others).joined(separator: " AND "),
            columns: isPlain ? index.terms.compactMap(\.column) : nil)
    }

    /// An expression over the table's columns, computed for NEW. Names in an index's expressions
    /// are never qualified, so that a row with the same names can be put under them.
    private func ofNew(_ expression: String) -> String {
        let row = table.columns.map { "\($0.inserted) AS \(SQLName.quoted($0.name))" }
            .joined(separator: ", ")
        return "(SELECT \(expression) FROM (SELECT \(row)))"
    }

    /// ` OF …` where the columns that can clash are known by name; else nothing: every update.
    private var updateOf: String {
        var names: [String] = []
        for clash in clashes() {
            guard let columns = clash.columns else { return "" }
            names += columns.filter { name in !names.contains { SQLName.isEqual($0, to: name) } }
        }
        return " OF \(updateColumns(names))"
    }

    private func exists(_ condition: String) -> String {
        "EXISTS(SELECT 1 FROM \(SQLName.quoted(table.name)) AS syncd_t WHERE \(condition))"
    }

    // MARK: Guard rows

    /// One statement for each way to clash, so that each finds its row by its own index.
    private func keepVictims(where condition: (Clash, _ prefix: String) -> String) -> [String] {
        let name = SQLName.quoted(table.name)
        var statements: [String] = []
        // Beside the numbers of the victim's log rows, a column could be ambiguous.
        let prefix =
            layout.valueCount(.replace) > CaptureLayout.valuesPerRow ? Self.tablePrefix : ""
        let conditions = clashes(prefix).map { condition($0, prefix) }
        let chunks = Self.chunks(deletedValues(prefix))
        let keys = keyValues(prefix)
        let targets = Self.valueColumns.prefix(chunks[0].count) + keys.indices.map { "k\($0)" }
        // VALUES is not limited as the terms of a compound SELECT are.
        let numbers = chunks.indices.map { "(\($0))" }.joined(separator: ", ")
        let from =
            chunks.count == 1
            ? "\(name) AS syncd_t" : "\(name) AS syncd_t CROSS JOIN (VALUES\(numbers)) AS syncd_i"
        let number = chunks.count == 1 ? "0" : "syncd_i.column1"
        for (position, condition) in conditions.enumerated() {
            let fresh = conditions.prefix(position).map { " AND (\($0)) IS NOT TRUE" }.joined()
            statements.append(
                "INSERT INTO syncd_guard(e, i, ts, \(targets.joined(separator: ", "))) "
                    + "SELECT \(entity), \(number), \(Self.now), "
                    + (victimValues(chunks) + keys).joined(separator: ", ")
                    + " FROM \(from) WHERE \(condition)\(fresh)"
                    + (chunks.count == 1 ? "" : " ORDER BY syncd_i.column1"))
        }
        return statements
    }

    /// Rows of earlier statements on this table, and old rows of all tables, so that the guard,
    /// which every insert scans, stays small.
    private var deleteOldGuards: String {
        guard context.isNested else {
            return "DELETE FROM syncd_guard WHERE e = \(entity) OR ts < \(Self.guardAgeMax)"
        }
        return "DELETE FROM syncd_guard WHERE e = \(entity) AND rowid <= "
            + "(SELECT max(rowid) FROM syncd_guard) - \(Self.nestedGuardRowsMax)"
    }

    /// The values of one log row, by the number of the row in the victim's value list.
    private func victimValues(_ chunks: [[String]]) -> [String] {
        guard chunks.count > 1 else { return chunks[0] }
        return chunks[0].indices.map { position in
            let cases = chunks.enumerated().compactMap { number, chunk in
                position < chunk.count ? "WHEN \(number) THEN \(chunk[position])" : nil
            }
            return "CASE syncd_i.column1 \(cases.joined(separator: " ")) END"
        }
    }

    /// `syncd_h` and `syncd_guard` have the same key. Both are columns of the guard.
    private var sameGuardKey: String {
        let keys = table.key.indices
        return keys.map { "syncd_h.k\($0) IS syncd_guard.k\($0)" }.joined(separator: " AND ")
            + keys.map { " AND typeof(syncd_h.k\($0)) IS typeof(syncd_guard.k\($0))" }.joined()
    }
}
