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
    /// Made by syncd: integer keys that are chosen at birth and never come twice.
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

    /// Where in a row the first of `columns` stands.
    var firstColumn: Int { key.count + (kindColumn == nil ? 0 : 1) }
}

/// The table of pairs of a many-to-many relationship. Immutable.
final class JoinLayout: Sendable {
    let table: String
    let sourceColumn: String
    let targetColumn: String
    let sourceEntity: String
    let targetEntity: String
    /// Places of the targets in the list of their source; nil when that has no order.
    let targetOrderColumn: String?
    /// Places of the sources in the list of their target; nil when that has no order.
    let sourceOrderColumn: String?
    let isManaged: Bool

    init(
        table: String, source: (entity: String, column: String),
        target: (entity: String, column: String), targetOrder: String?, sourceOrder: String?,
        isManaged: Bool
    ) {
        self.table = table
        sourceEntity = source.entity
        sourceColumn = source.column
        targetEntity = target.entity
        targetColumn = target.column
        targetOrderColumn = targetOrder
        sourceOrderColumn = sourceOrder
        self.isManaged = isManaged
    }

    /// The column that orders what is on the other side of `isSource`.
    func orderColumn(isSource: Bool) -> String? {
        isSource ? targetOrderColumn : sourceOrderColumn
    }
}
