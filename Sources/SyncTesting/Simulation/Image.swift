import SyncMerge

/// A view as the rows of tables.
struct Image {
    private(set) var rows: [RowKey: [Value]] = [:]
    private(set) var names: [RowKey: ObjectUID] = [:]

    init(
        of view: View, schema: MergeSchema, numbers: inout NumberMap, before: [RowKey: ObjectUID]
    ) throws {
        numbers.assign(for: view, schema: schema, before: before)
        func value(_ field: Field) -> Value {
            switch field {
            case .value(let value): return value
            case .reference(let uid, let part):
                guard let row = view.rows[uid] else { return .null }
                let entity = schema.entities[row.entity]
                if entity.isPrivate { return .integer(numbers.number(of: uid)) }
                return value(row.fields[entity.key[part]])
            }
        }
        for name in view.order {
            guard let row = view.rows[name] else { continue }
            let entity = schema.entities[row.entity]
            var values = row.fields.map(value)
            if entity.isPrivate { values[entity.key[0]] = .integer(numbers.number(of: name)) }
            let key = RowKey(entity: row.entity, entity.key.map { values[$0] })
            guard rows.updateValue(values, forKey: key) == nil else {
                throw SimulationFailure("two rows with one key")
            }
            names[key] = name
        }
    }
}
