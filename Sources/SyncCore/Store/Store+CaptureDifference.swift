import SyncStorage

extension Store {
    /// What the store records otherwise than was chosen for it.
    ///
    /// - Parameter choosesKept: whether it was chosen what deleted rows keep.
    /// - Throws: ``SyncError``: `storeDamaged`, `busy`.
    /// - Complexity: O(entities · names of the choice)
    package func difference(
        from choice: CaptureChoice, choosesKept: Bool
    ) throws -> CaptureDifference {
        try explaining("check") {
            try reading.read {
                try CaptureDifference(choice, choosesKept: choosesKept, on: $0.connection)
            }
        }
    }

    /// Records what a tracked store lacks of a choice, from now on; other tables that are not
    /// tracked, and names that are no tables, are left alone.
    ///
    /// - Returns: what was done with each table, and why not.
    /// - Throws: as ``track(_:entities:options:)``.
    package static func adjust(
        _ path: String, to choice: CaptureChoice, adding difference: CaptureDifference
    ) throws -> TrackReport {
        let tables = try look(at: path).tables
        let lacking = difference.about(tables)
        let options = try explaining("track", at: path) { try choice.options(path) }
        return try track(
            path,
            entities: .only(lacking.untracked + lacking.lackingOldValues + lacking.keepingValues),
            options: options.filter { name, _ in
                name == CaptureOptions.newTables
                    || tables.contains { SQLName.isEqual($0, to: name) }
            })
    }
}
