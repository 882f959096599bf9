import SyncMerge
import SyncStorage

/// The foreign keys of a table as references by identity.
struct DeclaredReferences {
    /// The references, each once.
    private(set) var references: [MergeEntity.Reference] = []
    /// Why the table cannot be merged; nil: it can.
    private(set) var problem: String?

    /// - Parameters:
    ///   - tables: the tracked tables.
    ///   - positions: their positions by folded name; foreign keys to other tables are plain
    ///     values.
    /// - Complexity: O(foreign keys · columns)
    init(of table: TableSchema, among tables: [TableSchema], positions: [String: Int]) {
        let places = ColumnUse(table)
        var used: Set<Int> = []
        for foreignKey in table.foreignKeys {
            guard let position = positions[SQLName.folded(foreignKey.parent)] else { continue }
            let parent = tables[position]
            let names = foreignKey.parentColumns.isEmpty ? parent.key : foreignKey.parentColumns
            let columns = foreignKey.columns.compactMap { places[$0] }
            guard columns.count == foreignKey.columns.count else { continue }
            // SQLite takes a foreign key with fewer columns than the key, and refuses the writes.
            let isMatched = names.count == columns.count
            let ordered = parent.key.compactMap { part in
                names.firstIndex { isMatched && SQLName.isEqual($0, to: part) }.map { columns[$0] }
            }
            guard ordered.count == parent.key.count, names.count == ordered.count else {
                problem =
                    "\(foreignKey.columns.joined(separator: ", ")) refers to columns of "
                    + "\(parent.name) that are not its primary key"
                return
            }
            // A key that refers to itself leads each row to that row: it is always satisfied.
            let isOwn = position == positions[SQLName.folded(table.name)]
            if isOwn, ordered == parent.key.compactMap({ places[$0] }) { continue }
            // The same reference declared twice is one; two that share a column cannot be merged.
            if references.contains(where: { $0.columns == ordered && $0.target == position }) {
                continue
            }
            guard used.isDisjoint(with: ordered) else {
                let shared = ordered.filter(used.contains).map { table.storedColumns[$0].name }
                problem =
                    "two of its foreign keys share the column "
                    + shared.joined(separator: ", ")
                return
            }
            used.formUnion(ordered)
            references.append(
                .init(ordered, to: position, onDelete: Self.action(foreignKey.onDelete)))
        }
    }

    /// The position of the table that the whole primary key refers to; nil: to none.
    func target(ofKey table: TableSchema) -> Int? {
        let places = ColumnUse(table)
        let key = Set(table.key.compactMap { places[$0] })
        return references.first { Set($0.columns) == key }?.target
    }

    private static func action(_ action: ForeignKeySchema.Action) -> MergeEntity.Reference.Action {
        switch action {
        case .cascade: return .cascade
        case .setNull: return .setNull
        case .setDefault: return .setDefault
        case .restrict, .noAction: return .restrict
        }
    }
}
