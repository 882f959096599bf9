import SyncCore

/// What a decision about a conflict does to the rows of this database.
public struct ConflictOutcome: Sendable, Hashable {
    /// A row that is inserted, updated or deleted.
    public struct Row: Sendable, Hashable {
        /// The entity's name.
        public let entity: String
        /// The key of the row.
        public let key: ObjectKey
        /// What is done to it.
        public let kind: ChangeKind
        /// The values that change, before; of a row that is deleted, all. Empty for a new row.
        public let before: NamedValues
        /// The values that change, after; of a row that is inserted, all. Empty for one that is
        /// deleted.
        public let after: NamedValues

        /// `Album/348`.
        public var path: String { "\(entity)/\(key)" }
    }

    /// The rows, by entity and key.
    public let rows: [Row]
    /// The object of the conflict where it is not shown and the decision deletes it on all
    /// replicas; nil otherwise.
    public let deletedObject: String?
}

extension ConflictOutcome {
    init(
        _ differences: [RowKey: RowDifference], schema: ReplicaSchema, deletedObject: String?
    ) {
        rows = differences.sorted { $0.key.precedes($1.key) }.map { key, difference in
            let table = schema.tables[key.entity]
            let kind: ChangeKind =
                difference.before == nil ? .insert : difference.after == nil ? .delete : .update
            let columns = kind == .update ? difference.columns : Array(table.columns.indices)
            func values(_ row: [Value]?) -> NamedValues {
                NamedValues(
                    row.map { row in
                        columns.map { .init(name: table.columns[$0], value: row[$0]) }
                    } ?? [])
            }
            return Row(
                entity: table.name, key: ObjectKey(key.values), kind: kind,
                before: values(difference.before), after: values(difference.after))
        }
        self.deletedObject = deletedObject
    }
}
