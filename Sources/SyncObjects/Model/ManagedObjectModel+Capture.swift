import SyncCore

extension ManagedObjectModel {
    /// How `Store.track(_:entities:options:)` is to record the tables, by table: of a deleted
    /// object history keeps every value but those of attributes whose
    /// ``AttributeDescription/preservesValueInHistoryOnDeletion`` is false. A table that keeps
    /// everything is not named.
    public var captureOptions: [String: CaptureOptions] {
        var left: [String: Set<Int>] = [:]
        for layout in layouts.values {
            for slot in layout.slots {
                guard case .attribute(let attribute) = slot.kind, let column = slot.column,
                    !attribute.preservesValueInHistoryOnDeletion
                else { continue }
                left[layout.table.name, default: []].insert(column)
            }
        }
        var options: [String: CaptureOptions] = [:]
        for table in tables {
            guard let left = left[table.name] else { continue }
            let columns = table.columns.indices.filter { !left.contains($0) }
                .map { table.columns[$0].name }
            let kept = (table.kindColumn.map { [$0] } ?? []) + columns
            options[table.name] = CaptureOptions(kept: kept.isEmpty ? .none : .columns(kept))
        }
        return options
    }
}
