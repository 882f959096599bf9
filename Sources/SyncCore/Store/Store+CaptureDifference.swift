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
    /// tracked are left alone.
    ///
    /// - Throws: as ``track(_:entities:options:)``.
    package static func adjust(
        _ path: String, to choice: CaptureChoice, adding difference: CaptureDifference
    ) throws {
        let names = difference.untracked + difference.lackingOldValues + difference.keepingValues
        let options = try explaining("track", at: path) { try choice.options(path) }
        try track(path, entities: .only(names), options: options)
    }
}
