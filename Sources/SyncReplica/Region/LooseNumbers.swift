import SyncMerge
import SyncValues

/// The numbers in place of references that keep a row out of the tables of this replica.
///
/// A reference that led to nothing where it was written is a fact with a number. Facts do not say
/// which row has a number here: so a view takes it for another value than the reference of another
/// row, although the two are equal in the tables, and SQLite refuses one of the rows. What led to
/// nothing is to lead to nothing: the number has to be another one.
struct LooseNumbers {
    /// For each row that has to give way, one of its columns.
    private(set) var found: [ObjectUID: Int] = [:]

    private let view: View
    private let schema: MergeSchema

    private struct Row {
        let name: ObjectUID
        let values: [Value]
        let fields: [Field]
        /// The columns of claims that hold a number in place of a reference.
        let loose: [Int]
    }

    private struct Claim: Hashable {
        let claim: Int
        let values: [Field]
    }

    /// Finds them among the rows of a complete region.
    /// - Complexity: O(rows of the region)
    init(in image: TableImage, of view: View, schema: MergeSchema) {
        self.view = view
        self.schema = schema
        var rows: [Int: [Row]] = [:]
        func add(_ key: RowKey, _ name: ObjectUID?, _ values: [Value]) {
            let columns = schema.entities[key.entity].numberColumns
            guard !columns.isEmpty, let name, let fields = view.rows[name]?.fields else { return }
            let loose = columns.filter { fields[$0].target == nil && !fields[$0].isNull }
            rows[key.entity, default: []].append(
                Row(name: name, values: values, fields: fields, loose: loose))
        }
        for (key, values) in image.rows { add(key, image.names[key], values) }
        for collision in image.collisions { add(collision.key, collision.name, collision.values) }
        for (entity, rows) in rows where rows.contains(where: { !$0.loose.isEmpty }) {
            find(among: rows, of: schema.entities[entity])
        }
    }

    private mutating func find(among rows: [Row], of entity: MergeEntity) {
        var claimants: [Claim: [Row]] = [:]
        for (place, claim) in entity.claims.enumerated()
        where claim.columns.contains(where: entity.numberColumns.contains) {
            for row in rows {
                guard let values = claim.values(of: row.values) else { continue }
                let folded = claim.folded(values.map(Field.value))
                claimants[Claim(claim: place, values: folded), default: []].append(row)
            }
        }
        for (claim, rivals) in claimants where rivals.count > 1 {
            let columns = entity.claims[claim.claim].columns
            for row in rivals {
                let column = row.loose.first { column in
                    columns.contains(column)
                        && rivals.contains { $0.fields[column].target != nil }
                }
                guard let column else { continue }
                found[row.name] = min(column, found[row.name] ?? column)
            }
        }
    }
}
