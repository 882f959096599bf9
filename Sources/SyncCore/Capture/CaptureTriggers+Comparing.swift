import SyncStorage

/// Comparisons of rows, and the mask of what changed.
///
/// SQLite limits the depth of an expression, to 1,000 by default and to 10 where a program follows
/// <https://sqlite.org/security.html>: a trigger that is deeper makes the whole schema unreadable
/// for such a program. In depth, a column with its table is 2, each operator, function, list or
/// subquery adds 1, and when a statement is prepared, the depth inside a subquery is added to the
/// depth around it. So alternatives are balanced trees, and keys of several columns row values.
extension CaptureTriggers {
    /// The depth that every expression stays within, for simple tables at least.
    private static let depthMax = 10

    /// How a column's values are compared byte for byte, type for type.
    private enum Precision {
        /// `IS` is exact: equal values are of one type.
        case exact
        /// A NUMERIC or INTEGER column turns each real that is an integer into one, but for -2^63:
        /// SQLite compares it equal to the integer.
        case numeric
        /// `1` and `1.0` are equal.
        case untyped
    }

    private func precision(_ column: ColumnSchema) -> Precision {
        if column.isUntyped { return .untyped }
        switch column.affinity {
        case .blob, .text, .real: return .exact
        case .integer, .numeric:
            let isRowID =
                table.isIntegerKey
                && table.key.contains { SQLName.isEqual($0, to: column.name) }
            return isRowID || table.isStrict ? .exact : .numeric
        }
    }

    /// Smaller than every integer but -2^63.
    private static let smallest = "-9223372036854775807"

    private func collation(_ column: ColumnSchema) -> String {
        column.comparesBinary ? "" : " COLLATE BINARY"
    }

    // MARK: Changed columns

    /// The columns that can differ in an update that keeps the key.
    var changeable: [(bit: Int, column: ColumnSchema)] {
        let key = Set(layout.key.map(SQLName.folded))
        return table.storedColumns.enumerated()
            .filter { !key.contains(SQLName.folded($0.element.name)) }
            .map { ($0.offset, $0.element) }
    }

    /// The column's value differs between OLD and NEW: in its bytes or in its type.
    private func differs(_ column: ColumnSchema) -> String {
        let name = SQLName.quoted(column.name)
        let (old, new) = ("OLD.\(name)", "NEW.\(name)")
        let values = "\(old)\(collation(column)) IS NOT \(new)"
        let types = "typeof(\(old)) IS NOT typeof(\(new))"
        switch precision(column) {
        case .exact: return "(\(values))"
        case .numeric: return "(\(values) OR \(old) < \(Self.smallest) AND \(types))"
        case .untyped: return "(\(values) OR \(types))"
        }
    }

    /// The depth of ``differs(_:)``.
    private func depth(ofDifference column: ColumnSchema) -> Int {
        switch precision(column) {
        case .exact: return column.comparesBinary ? 3 : 4
        case .numeric: return 6
        case .untyped: return 5
        }
    }

    /// The table has more columns than an expression tree over them may be deep.
    var isWide: Bool {
        let columns = changeable.map(\.column)
        let deepest = columns.map(depth).max() ?? 0
        let mask = deepest + 1 + Self.levels(of: min(columns.count, ColumnMask.bitsPerWord))
        return max(mask, deepest + Self.levels(of: columns.count) + 1) > Self.depthMax
    }

    /// Any column that is not of the key has changed.
    var isChanged: String {
        let columns = changeable.map(\.column)
        guard isWide else { return "(\(Self.tree(columns.map(differs), of: "OR")))" }
        return "\(Self.row(columns.flatMap { exact("OLD", $0) })) IS NOT "
            + Self.row(columns.flatMap { exact("NEW", $0) })
    }

    /// Expressions that are all equal exactly when the column's values are the same.
    private func exact(_ row: String, _ column: ColumnSchema) -> [String] {
        let name = "\(Self.prefix(row))\(SQLName.quoted(column.name))"
        let value = "\(name)\(collation(column))"
        switch precision(column) {
        case .exact: return [value]
        case .numeric:
            return [value, "CASE WHEN \(name) < \(Self.smallest) THEN typeof(\(name)) END"]
        case .untyped: return [value, "typeof(\(name))"]
        }
    }

    /// An integer of a mask: an expression, and the named bits that it is made of.
    struct Mask {
        var expression: String
        var bits: [String]
    }

    /// One integer for each 63 columns. Each term has its own parentheses: `|` and `<<` have the
    /// same precedence in SQLite. Of a wide table, the bits are names of ``masksUsed(inRow:)``.
    var masks: [Mask] {
        (0...layout.furtherMasks).map { number in
            let first = number * ColumnMask.bitsPerWord
            let columns = changeable.filter { $0.bit / ColumnMask.bitsPerWord == number }
            let bits = columns.map { bit, column in
                bit == first ? differs(column) : "(\(differs(column))<<\(bit - first))"
            }
            guard !bits.isEmpty else { return Mask(expression: "0", bits: []) }
            guard isWide else {
                return Mask(expression: Self.tree(bits, of: "|"), bits: [])
            }
            let names = columns.map { "syncd_\($0.bit)" }
            return Mask(
                expression: Self.tree(names, of: "|"),
                bits: zip(bits, names).map { "\($0) AS \($1)" })
        }
    }

    var furtherMasks: [Mask] { Array(masks.dropFirst()) }

    /// ` FROM (SELECT … )` with the bits of the masks that a row of the log has; empty when it has
    /// none.
    func masksUsed(inRow number: Int) -> String {
        let firstValue = number * CaptureLayout.valuesPerRow
        let values = firstValue..<(firstValue + CaptureLayout.valuesPerRow)
        var used = number == 0 ? [masks[0]] : []
        used += furtherMasks.enumerated().filter { values.contains(layout.key.count + $0.offset) }
            .map(\.element)
        let bits = used.flatMap(\.bits)
        return bits.isEmpty ? "" : " FROM (SELECT \(bits.joined(separator: ", ")))"
    }

    var oldValues: [String] {
        let bits = Set(changeable.map(\.bit))
        return table.storedColumns.enumerated().map { bit, column in
            guard bits.contains(bit) else { return "NULL" }
            return "CASE WHEN \(differs(column)) THEN OLD.\(SQLName.quoted(column.name)) END"
        }
    }

    // MARK: Keys

    /// The key of both rows is the same, byte for byte.
    func sameKey(_ left: String, as right: String) -> String {
        keyRow(left) + " IS " + keyRow(right)
    }

    /// The keys of the rows differ.
    func otherKey(_ left: String, than right: String) -> String {
        keyRow(left) + " IS NOT " + keyRow(right)
    }

    /// The key of a row of the table, for ``sameKey(_:as:)``.
    private func keyRow(_ row: String) -> String {
        Self.row(table.keyColumns.flatMap { exact(row, $0) })
    }

    /// The guard row has the key of `row`.
    ///
    /// Where `syncd_guard` is the only table: its columns need no table then.
    func guardHasKey(of row: String) -> String {
        let guarded = table.keyColumns.enumerated().flatMap { number, column in
            guardValues("k\(number)", column)
        }
        let values = table.keyColumns.flatMap { column in
            guardValues("\(row).\(SQLName.quoted(column.name))", column)
        }
        return Self.row(values) + " IS " + Self.row(guarded)
    }

    /// As ``exact(_:_:)``, in the same form for a column of the guard.
    private func guardValues(_ name: String, _ column: ColumnSchema) -> [String] {
        let value = "\(name)\(collation(column))"
        return precision(column) == .exact ? [value] : [value, "typeof(\(name))"]
    }

    /// The table has no object with the key of the row of `syncd_guard`.
    var isMissing: String {
        let from = "FROM \(SQLName.quoted(table.name)) AS syncd_t WHERE "
        let columns = table.keyColumns
        if columns.count == 1, precision(columns[0]) == .exact, columns[0].comparesBinary {
            let name = SQLName.quoted(columns[0].name)
            return "NOT EXISTS(SELECT 1 \(from)syncd_t.\(name) IS syncd_guard.k0)"
        }
        // Found under the index's collation, then compared byte for byte. Without their tables the
        // names are less deep; a column of the table that has a name of the guard would hide it.
        let guards = columns.indices.map { number in
            table.column("k\(number)") == nil ? "k\(number)" : "syncd_guard.k\(number)"
        }
        let names = columns.map { SQLName.quoted($0.name) }
        let keys = zip(guards, columns).flatMap(guardValues)
        let found = zip(names, columns).flatMap { name, column in
            precision(column) == .exact ? [name] : [name, "typeof(\(name))"]
        }
        return "\(Self.row(keys)) NOT IN (SELECT \(found.joined(separator: ", ")) "
            + "\(from)\(Self.row(names)) IS \(Self.row(guards)))"
    }

    // MARK: Shapes

    /// A row value; of one expression, itself.
    static func row(_ values: [String]) -> String {
        values.count == 1 ? values[0] : "(\(values.joined(separator: ", ")))"
    }

    /// The terms, joined by an operator, as a tree of the least depth. The operator is
    /// associative to the left.
    static func tree(_ terms: some Collection<String>, of operation: String) -> String {
        guard terms.count > 2 else { return terms.joined(separator: " \(operation) ") }
        let half = (terms.count + 1) / 2
        let right = tree(terms.dropFirst(half), of: operation)
        return "\(tree(terms.prefix(half), of: operation)) \(operation) "
            + (terms.count - half > 1 ? "(\(right))" : right)
    }

    /// How much deeper ``tree(_:of:)`` of `count` terms is than its terms.
    private static func levels(of count: Int) -> Int {
        var (levels, width) = (0, 1)
        while width < count { (levels, width) = (levels + 1, width * 2) }
        return levels
    }
}
