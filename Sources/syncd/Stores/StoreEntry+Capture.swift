import SyncCore

extension Configuration.StoreEntry {
    /// Which tables to record.
    var entityFilter: EntityFilter { entities.isEmpty ? .all : .only(entities) }

    /// What to keep, by table; `undo: ["*"]` and `keep: none` are for every table of the file.
    ///
    /// - Throws: as ``Tracker/init(path:)``.
    func captureOptions(_ path: String) throws -> [String: CaptureOptions] {
        if keepsValues, undo.isEmpty { return [:] }
        let kept: CaptureOptions.Kept = keepsValues ? .all : .none
        if keepsValues, !undo.contains("*") {
            return Dictionary(undo.map { ($0, CaptureOptions(undo: true)) }) { first, _ in first }
        }
        let names = try Tracker(path: path).recordableTables()
        return Dictionary(
            uniqueKeysWithValues: names.map { name in
                let isUndone =
                    undo.contains("*") || undo.contains { $0.lowercased() == name.lowercased() }
                return (name, CaptureOptions(kept: kept, undo: isUndone))
            })
    }
}
