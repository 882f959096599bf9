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
        case (_, .text(let text)): return !Self.mayBeNumber(text)
        }
    }

    /// Whether SQLite may take a text for a number. Most texts in columns of numbers are dates, and
    /// are none: a sign follows a digit.
    private static func mayBeNumber(_ text: String) -> Bool {
        var last: UInt8 = 0x20
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x2E, 0x65, 0x45, 0x09...0x0D, 0x20: break  // digits . e E, space
            case 0x2B, 0x2D:  // + -
                guard !(0x30...0x39 ~= last) else { return false }
            default: return false
            }
            last = byte
        }
        return text.utf8.contains { 0x30...0x39 ~= $0 }
    }
}
