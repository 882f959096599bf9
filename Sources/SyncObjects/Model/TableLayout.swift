import SyncCore

/// The table of an entity hierarchy. Immutable.
final class TableLayout: Sendable {
    struct Column: Sendable {
        let name: String
        let type: String
        let isMandatory: Bool
        let defaultValue: Value
        /// The entity and the relationship that a reference column belongs to.
        let reference: (entity: String, relation: RelationshipDescription)?
        let coding: AttributeCoding
    }

    let name: String
    let key: [EntityDescription.KeyColumn]
    /// The column that says which entity of the hierarchy a row is; nil when there is one only.
    let kindColumn: String?
    let columns: [Column]
    /// The table was created by this layer: its integer keys are assigned when an object is made,
    /// and never reused.
    let isManaged: Bool
    /// Reads all columns of rows by their keys, for some numbers of keys, so that each is prepared
    /// once; none for tables with composite keys. The table is `t0`.
    let keySelections: [(keys: Int, sql: String)]

    /// Numbers of keys that there are statements for.
    private static let keyCounts = [1, 4, 16, 64, 256, 512]

    init(
        name: String, key: [EntityDescription.KeyColumn], kindColumn: String?, columns: [Column],
        isManaged: Bool
    ) {
        self.name = name
        self.key = key
        self.kindColumn = kindColumn
        self.columns = columns
        self.isManaged = isManaged
        let names = key.map(\.column) + (kindColumn.map { [$0] } ?? []) + columns.map(\.name)
        let selection =
            "SELECT " + names.map { "t0." + SQLText.quoted($0) }.joined(separator: ", ")
            + " FROM \(SQLText.quoted(name)) t0 WHERE "
        keySelections =
            key.count != 1
            ? []
            : Self.keyCounts.map { count in
                let column = "t0." + SQLText.quoted(key[0].column)
                let sql = selection + "\(column) IN (\(SQLText.marks(count)))"
                return (count, sql)
            }
    }

    /// Key, kind where there is one, then the columns: the one order in which rows are read.
    var selectedColumns: [String] {
        key.map(\.column) + (kindColumn.map { [$0] } ?? []) + columns.map(\.name)
    }

    /// The index of the first of `columns` in a row.
    var firstColumn: Int { key.count + (kindColumn == nil ? 0 : 1) }
}
