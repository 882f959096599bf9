import SyncStorage
import SyncValues

extension ReplicaSchema {
    /// A value as this replica's tables store it. A writer's own table has stored it already;
    /// another type of the column on the writer's replica, or a member that states what no table
    /// holds, makes a difference: `0` for a TEXT column is stored as `'0'`.
    /// - Complexity: O(1) where the value is of a kind that the column keeps.
    func stored(_ value: Value, entity: Int, column: Int) -> Value {
        let table = tables[entity]
        guard !table.affinities[column].keeps(value) else { return value }
        return rules.stored(value, table: table.name, column: table.columns[column])
    }
}

extension Affinity {
    /// Whether a column with this affinity stores the value as it is; false where SQLite is to be
    /// asked (<https://sqlite.org/datatype3.html#type_affinity>).
    fileprivate func keeps(_ value: Value) -> Bool {
        switch (self, value) {
        case (_, .null), (_, .blob), (.blob, _), (.text, .text): return true
        case (.text, _): return false
        case (.integer, .integer), (.numeric, .integer): return true
        case (.real, .real(let number)): return number.isFinite
        case (.integer, .real(let number)), (.numeric, .real(let number)):
            return number != number.rounded()
        case (.real, .integer): return false
        // Most texts in such columns are dates.
        case (_, .text(let text)): return !text.contains(where: \.isNumber) || text.contains(":")
        }
    }
}
