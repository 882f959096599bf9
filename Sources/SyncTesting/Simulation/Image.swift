import SyncMerge

/// A view as the rows of tables.
struct Image {
    private(set) var rows: [RowKey: [Value]] = [:]
    private(set) var names: [RowKey: ObjectUID] = [:]

    init(
        of view: View, schema: MergeSchema, numbers: inout NumberMap, before: [RowKey: ObjectUID],
        rows tables: [RowKey: [Value]]
    ) throws {
        numbers.assign(for: view, schema: schema, before: before)
        // A row that was given another key is shown under an identity of before.
        var present: [ObjectUID: [Value]] = [:]
        let renamed = before.filter { view.shownAs[$0.value] != $0.value }
        for (key, name) in renamed.sorted(by: { $0.value < $1.value }) {
            if let host = view.shownAs[name] { present[host] = tables[key] }
        }
        for (key, name) in before where view.shownAs[name] == name { present[name] = tables[key] }
        func value(_ field: Field) -> Value {
            switch field {
            case .unstated: return .null
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
            // A reference keeps the spelling of its row, but where UNIQUE tells spellings apart.
            for reference in entity.references where !reference.isExact {
                let target = schema.entities[reference.target]
                for (column, key) in zip(reference.columns, target.key)
                where row.fields[column].target != nil {
                    let fold = target.columns[key].collation.folded
                    if let old = present[name]?[column], fold(old) == fold(values[column]) {
                        values[column] = old
                    }
                }
            }
            if entity.isPrivate { values[entity.key[0]] = .integer(numbers.number(of: name)) }
            if entity.hasSpelledReferences, entity.refuses(values.map(Field.value)) {
                // But not one that a CHECK refuses.
                let visible = row.fields.map { Field.value(value($0)) }
                let fields = entity.accepted(visible) { row.fields[$0].target != nil }
                for (column, field) in (fields ?? []).enumerated() {
                    guard row.fields[column].target != nil, case .value(let value) = field else {
                        continue
                    }
                    values[column] = value
                }
            }
            let key = schema.key(row.entity, entity.key.map { values[$0] })
            guard rows.updateValue(values, forKey: key) == nil else {
                throw SimulationFailure("two rows with one key")
            }
            names[key] = name
        }
    }
}
