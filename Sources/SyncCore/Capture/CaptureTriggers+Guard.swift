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

    /// A guard row older than this, some 86 seconds, belongs to no running statement.
    static let guardAgeMaxDays = 0.001

    /// One way in which a new row can replace an old one.
    private struct Clash {
        /// A condition on `syncd_t`, the table, and NEW.
        var condition: String
        /// The columns whose change can lead to it; nil when any may.
        var columns: [String]?
    }

    var guardInsert: Trigger? {
        trigger(
            "g", on: "BEFORE INSERT", when: exists(clashes.map(\.condition)),
            body: keepVictims(clashes.map(\.condition)))
    }

    var guardUpdate: Trigger? {
        let clashes = clashes.map { clash in
            Clash(
                condition: "\(clash.condition) AND NOT (\(sameKey("syncd_t", as: "OLD")))",
                columns: clash.columns)
        }
        return trigger(
            "h", on: "BEFORE UPDATE\(updateOf)", when: exists(clashes.map(\.condition)),
            body: keepVictims(clashes.map(\.condition)))
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

    /// The delete of OLD is logged: its guard row, if any, must not be logged as well.
    func forgetGuard() -> String {
        "DELETE FROM syncd_guard WHERE e = \(entity) AND \(guardHasKey(of: "OLD"))"
    }

    /// Logs the victims that are gone, and drops what is done with or older than this statement.
    ///
    /// - Parameters:
    ///   - rowIsNew: NEW has come to its key by this statement. Then a victim with that key is gone
    ///     though the key is there; otherwise NEW may be that victim, updated by an UPSERT.
    ///   - row: what the same statement logs after the victims.
    func drain(rowIsNew: Bool = true, before row: LogRow? = nil) -> [String] {
        let isSame = guardHasKey(of: "NEW")
        let stillThere =
            "EXISTS(SELECT 1 FROM \(SQLName.quoted(table.name)) AS syncd_t "
            + "WHERE \(seekKey))"
        let gone = rowIsNew ? "(\(isSame) OR NOT \(stillThere))" : "NOT \(stillThere)"
        let newest =
            isNested
            ? " AND NOT EXISTS(SELECT 1 FROM syncd_guard AS syncd_h WHERE syncd_h.e = \(entity) "
                + "AND syncd_h.i = syncd_guard.i AND syncd_h.rowid > syncd_guard.rowid "
                + "AND \(sameGuardKey))"
            : ""
        return [
            logVictims(isSame: isSame, where: "\(gone)\(newest)", before: row),
            "DELETE FROM syncd_guard WHERE e = \(entity) "
                + "AND (ts IS NOT \(Self.now) OR \(gone))",
        ]
    }

    /// What ``drain(rowIsNew:)`` does after an insert, where only the key can clash: the one victim
    /// has the new row's key. Its guard row need not go, which saves a statement for each insert:
    /// the object exists, and every statement that removes it deletes or renews the row first.
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
        let columns = ["op", "m", "ts"] + values
        let last = row.map { " UNION ALL \($0.select(columns))" } ?? ""
        return "INSERT INTO \(LogTable.name)(\(columns.joined(separator: ", "))) "
            + "SELECT \(victimHead(isSame: isSame)), \(values.joined(separator: ", ")) "
            + "FROM syncd_guard WHERE e = \(entity) AND \(condition)\(last)"
    }

    /// The values of `op`, `m` and `ts` in the log row of a victim.
    private func victimHead(isSame: String) -> String {
        let op = LogKind.replace.op(entity)
        guard layout.valueCount(.replace) > CaptureLayout.valuesPerRow else {
            return "\(op), \(isSame), ts"
        }
        return "CASE i WHEN 0 THEN \(op) ELSE \(LogKind.continued.op(entity)) END, "
            + "CASE i WHEN 0 THEN \(isSame) END, CASE i WHEN 0 THEN ts END"
    }

    // MARK: Clashes

    /// A new row can replace only the row with its key.
    var clashesInKeyAlone: Bool {
        table.isIntegerKey && table.uniqueIndexes.isEmpty && !isNested
    }

    private var clashes: [Clash] {
        var clashes: [Clash] = []
        if table.isIntegerKey, let name = table.key.first.map(SQLName.quoted) {
            clashes.append(Clash(condition: "syncd_t.\(name) = NEW.\(name)", columns: table.key))
        } else if let name = usesRowID ? table.rowIDName : nil {
            // A BEFORE INSERT trigger sees -1 where SQLite will choose the rowid.
            clashes.append(
                Clash(
                    condition: "NEW.\(name) <> -1 AND syncd_t.\(name) = NEW.\(name)", columns: []))
        }
        return clashes + table.uniqueIndexes.map(clash)
    }

    /// Rows have a rowid besides the declared key, and REPLACE can clash in it.
    private var usesRowID: Bool { !table.isIntegerKey && table.rowIDName != nil }

    private func clash(_ index: UniqueIndex) -> Clash {
        var isPlain = index.condition == nil
        var terms = index.terms.map { term -> String in
            if let expression = term.expression {
                isPlain = false
                return "(\(expression)) = \(ofNew(expression))"
            }
            let column = term.column.flatMap { table.column($0) }
            if column?.isGenerated ?? true { isPlain = false }
            let name = SQLName.quoted(term.column ?? "")
            let collates = SQLName.isEqual(column?.collation ?? "BINARY", to: term.collation)
            let collation = collates ? "" : " COLLATE \(SQLName.quoted(term.collation))"
            return "syncd_t.\(name)\(collation) = NEW.\(name)"
        }
        if let condition = index.condition {
            terms += ["(\(condition))", ofNew(condition)]
        }
        return Clash(
            condition: terms.joined(separator: " AND "),
            columns: isPlain ? index.terms.compactMap(\.column) : nil)
    }

    /// An expression over the table's columns, computed for NEW. Names in an index's expressions
    /// are never qualified, so that a row with the same names can be put under them.
    private func ofNew(_ expression: String) -> String {
        let row = table.columns.map { column -> String in
            let name = SQLName.quoted(column.name)
            return "NEW.\(name) AS \(name)"
        }.joined(separator: ", ")
        return "(SELECT \(expression) FROM (SELECT \(row)))"
    }

    /// ` OF …` where the columns that can clash are known by name; else nothing: every update.
    private var updateOf: String {
        var names: [String] = []
        for clash in clashes {
            guard let columns = clash.columns else { return "" }
            names += columns.filter { name in !names.contains { SQLName.isEqual($0, to: name) } }
        }
        return " OF \(updateColumns(names))"
    }

    private func exists(_ conditions: [String]) -> String {
        conditions.map {
            "EXISTS(SELECT 1 FROM \(SQLName.quoted(table.name)) AS syncd_t WHERE \($0))"
        }.joined(separator: " OR ")
    }

    // MARK: Guard rows

    /// One statement for each way to clash, so that each finds its row by its own index.
    private func keepVictims(_ conditions: [String]) -> [String] {
        let name = SQLName.quoted(table.name)
        var statements: [String] = []
        if isNested {
            statements.append(
                "DELETE FROM syncd_guard WHERE e = \(entity) AND rowid <= "
                    + "(SELECT max(rowid) FROM syncd_guard) - \(Self.nestedGuardRowsMax)")
        } else {
            // Old rows of all tables are deleted, so that the guard, which every insert scans,
            // stays small.
            statements.append(
                "DELETE FROM syncd_guard WHERE e = \(entity) "
                    + "OR abs(ts - \(Self.now)) > \(Self.guardAgeMaxDays)")
        }
        let chunks = Self.chunks(deletedValues("syncd_t"))
        let keys = keyValues("syncd_t")
        let targets = Self.valueColumns.prefix(chunks[0].count) + keys.indices.map { "k\($0)" }
        let numbers = chunks.indices.map { "SELECT \($0) AS i" }.joined(separator: " UNION ALL ")
        let from =
            chunks.count == 1
            ? "\(name) AS syncd_t" : "\(name) AS syncd_t CROSS JOIN (\(numbers)) AS syncd_i"
        for (position, condition) in conditions.enumerated() {
            let fresh = conditions.prefix(position).map { " AND (\($0)) IS NOT TRUE" }.joined()
            statements.append(
                "INSERT INTO syncd_guard(e, i, ts, \(targets.joined(separator: ", "))) "
                    + "SELECT \(entity), \(chunks.count == 1 ? "0" : "syncd_i.i"), \(Self.now), "
                    + (victimValues(chunks) + keys).joined(separator: ", ")
                    + " FROM \(from) WHERE \(condition)\(fresh)"
                    + (chunks.count == 1 ? "" : " ORDER BY syncd_i.i"))
        }
        return statements
    }

    /// The values of one log row, by the number of the row in the victim's value list.
    private func victimValues(_ chunks: [[String]]) -> [String] {
        guard chunks.count > 1 else { return chunks[0] }
        return chunks[0].indices.map { position in
            let cases = chunks.enumerated().compactMap { number, chunk in
                position < chunk.count ? "WHEN \(number) THEN \(chunk[position])" : nil
            }
            return "CASE syncd_i.i \(cases.joined(separator: " ")) END"
        }
    }

    /// The guard row's object has the key of OLD or NEW.
    private func guardHasKey(of row: String) -> String {
        table.keyColumns.enumerated().map { number, column in
            Self.same(
                "\(row).\(SQLName.quoted(column.name))", as: "syncd_guard.k\(number)", in: column)
        }.joined(separator: " AND ")
    }

    /// `syncd_t` is the object of the guard row `syncd_guard`: `=` under the index's collation to
    /// find it, then byte for byte.
    private var seekKey: String {
        table.keyColumns.enumerated().map { number, column in
            let name = "syncd_t.\(SQLName.quoted(column.name))"
            let guarded = "syncd_guard.k\(number)"
            let exact = Self.same(name, as: guarded, in: column)
            return column.comparesBinary ? exact : "\(name) IS \(guarded) AND \(exact)"
        }.joined(separator: " AND ")
    }

    private var sameGuardKey: String {
        table.keyColumns.enumerated().map { number, column in
            Self.same("syncd_h.k\(number)", as: "syncd_guard.k\(number)", in: column)
        }.joined(separator: " AND ")
    }
}
