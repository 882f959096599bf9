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
