import SyncValues

extension View {
    /// A row that claims a UNIQUE value which another row is to get, and how it can be shown
    /// without it.
    package struct Rival {
        /// The row as it is shown.
        package let row: ShownRow
        /// Its fields, with another value in one of the claimed columns.
        package let fields: [Field]
    }

    /// The rows that claim what a row would claim with other values in a cell.
    /// - Parameters:
    ///   - name: the row.
    ///   - fields: its fields with these values.
    /// - Complexity: O(rows)
    package func rivals(
        of name: ObjectUID, with fields: [Field], cell: Int, schema: MergeSchema
    ) -> [Rival] {
        guard let entity = rows[name]?.entity else { return [] }
        let described = schema.entities[entity]
        var rivals: [Rival] = []
        for (index, claim) in described.claims.enumerated()
        where claim.columns.contains(where: { described.cellOfColumn[$0] == cell }) {
            guard let wanted = claimed(by: fields, claim, schema: schema) else { continue }
            for other in order where other != name {
                guard let row = rows[other], row.entity == entity,
                    claimed(by: row.fields, claim, schema: schema) == wanted
                else { continue }
                for rename in described.loserRenames[index] {
                    guard case .value(let value) = row.fields[rename.column] else { continue }
                    var changed = row.fields
                    changed[rename.column] = .value(
                        rename.value(for: value, suffix: "~" + other.description.prefix(8)))
                    guard claimed(by: changed, claim, schema: schema) != wanted else { continue }
                    rivals.append(Rival(row: row, fields: changed))
                    break
                }
            }
        }
        return rivals
    }

    /// A row that claims what a row with these fields claims, and the columns of the claim; nil
    /// when there is none.
    /// - Complexity: O(rows)
    package func claimant(
        of fields: [Field], besides name: ObjectUID, entity: Int, schema: MergeSchema
    ) -> (row: ShownRow, columns: [Int])? {
        let described = schema.entities[entity]
        for claim in described.claims {
            guard let wanted = claimed(by: fields, claim, schema: schema) else { continue }
            for other in order where other != shownAs[name] {
                guard let row = rows[other], row.entity == entity,
                    claimed(by: row.fields, claim, schema: schema) == wanted
                else { continue }
                return (row, claim.columns)
            }
        }
        return nil
    }

    private func claimed(
        by fields: [Field], _ claim: MergeEntity.Claim, schema: MergeSchema
    ) -> [Field]? {
        claim.values { visible(fields[$0], schema: schema) }.map(claim.folded)
    }

    /// What SQLite sees in a column: a reference shows the key of its target, a private number
    /// stays a reference.
    private func visible(_ field: Field, schema: MergeSchema) -> Field {
        var field = resolved(field)
        for _ in 0...schema.entities.count {
            guard case .reference(let uid, let part) = field, let row = rows[uid] else { break }
            let entity = schema.entities[row.entity]
            guard !entity.isPrivate, entity.key.indices.contains(part) else { break }
            field = resolved(row.fields[entity.key[part]])
        }
        return field
    }
}
