import SyncCore

/// Makes stored rows of the columns of a table, in the order of `TableLayout.selectedColumns`.
struct RowDecoder {
    private let table: TableLayout
    private let fallback: EntityLayout
    private let layouts: [String: EntityLayout]
    private let incarnations: Identities.Incarnations

    init(entity: EntityLayout, model: ManagedObjectModel, identities: Identities) {
        table = entity.table
        fallback = entity
        layouts = table.kindColumn == nil ? [:] : model.layouts
        incarnations = identities.incarnations(entity.root)
    }

    /// Nil for a row of an entity that the model does not know.
    func row(_ statement: RawStatement) -> StoredRow? {
        var entity = fallback
        if table.kindColumn != nil {
            guard case .text(let name) = statement.value(table.key.count),
                let layout = layouts[name], layout.table === table
            else { return nil }
            entity = layout
        }
        let key: ManagedObjectKey
        if table.key.count == 1 {
            key = ManagedObjectKey(single: statement.value(0))
        } else {
            key = ManagedObjectKey((0..<table.key.count).map(statement.value))
        }
        let first = Int32(table.firstColumn)
        let columns = entity.slotColumns
        let values = [Value](unsafeUninitializedCapacity: columns.count) { buffer, count in
            for (slot, column) in columns.enumerated() {
                let value =
                    column >= 0
                    ? statement.value(Int(first + column)) : entity.defaults[slot]
                buffer.initializeElement(at: slot, to: value)
            }
            count = columns.count
        }
        return StoredRow(entity: entity, id: incarnations.id(key), values: values)
    }
}

extension ManagedObjectKey {
    fileprivate init(single value: Value) {
        if case .integer(let number) = value {
            self = .integer(number)
        } else {
            self.init([value])
        }
    }
}
