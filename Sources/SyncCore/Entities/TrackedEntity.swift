import SyncStorage
import SyncValues

/// An entity: a table with the layout that its triggers were made from. A row of `syncd_entity`.
///
/// A table gets a new entity, with the next number, each time its schema changes. Immutable.
package final class TrackedEntity: Sendable {
    /// The number: never used twice in a store.
    package let id: Int64
    /// The table's name.
    package let name: String
    /// The name as ``SQLName/folded(_:)`` returns it.
    package let folded: String
    /// How its log rows are read.
    package let layout: CaptureLayout
    /// The table was dropped, is not recorded any more, or goes on under another number.
    package let isRetired: Bool
    /// The number of the first entity that the table had: the same through all its changes.
    package let lineage: Int64
    /// The positions of the key's columns among all, in key order.
    let keyPositions: [Int]

    /// - Parameter lineage: nil: the entity is the first of its table.
    package init(
        id: Int64, name: String, layout: CaptureLayout, isRetired: Bool, lineage: Int64? = nil
    ) {
        self.lineage = lineage ?? id
        self.id = id
        self.name = name
        self.folded = SQLName.folded(name)
        self.layout = layout
        self.isRetired = isRetired
        let columns = layout.columns
        keyPositions = layout.key.compactMap { columns.firstIndex(of: $0) }
    }

    package var columnNames: [String] { layout.columns }
    var columnCount: Int { layout.columns.count }
    var cascades: [CaptureLayout.Cascade] { layout.cascades ?? [] }
    package var keyCount: Int { layout.key.count }
    package var keepsOldValues: Bool { layout.undo }

    /// All columns but the key's.
    var nonKeyMask: ColumnMask {
        var mask = ColumnMask()
        for position in 0..<columnCount where !keyPositions.contains(position) {
            mask.insert(position)
        }
        return mask
    }

    /// The kept values in the value list of a delete: as many as the layout's `kept`.
    func keptValues(in values: [Value]) -> [Value] { Array(values.dropFirst(keyCount)) }

    /// What an update of everything overwrote, by column; empty when old values are not kept, or
    /// not all.
    func oldValues(fromKept kept: [Value]) -> [Value] {
        guard keepsOldValues, layout.kept.count == kept.count,
            Set(layout.kept).union(keyPositions).isSuperset(of: 0..<columnCount)
        else { return [] }
        var old = [Value](repeating: .null, count: columnCount)
        for (position, value) in zip(layout.kept, kept) where old.indices.contains(position) {
            old[position] = value
        }
        return old
    }

    /// The values kept of a deleted object, its key's included, in column order.
    ///
    /// - Parameter names: of the columns.
    func tombstone(key: ObjectKey, kept: [Value], names: [String]) -> NamedValues {
        var values: [Int: Value] = [:]
        for (position, value) in zip(keyPositions, key.values) { values[position] = value }
        for (position, value) in zip(layout.kept, kept) { values[position] = value }
        return NamedValues(
            values.sorted { $0.key < $1.key }.filter { $0.key < columnCount }.map {
                NamedValues.Pair(name: names[$0.key], value: $0.value)
            })
    }
}
