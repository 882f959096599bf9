import SyncStorage

extension Store {
    /// The tables of a tracked database that have rows with NULL in the key.
    /// - Throws: ``SyncError``: as ``open(_:)``.
    /// - Complexity: as ``NullKeys/all(_:)``
    package static func nullKeys(_ path: String) throws -> [NullKeys] {
        let queue = try DatabaseOpener.open(path, for: .reading)
        defer { try? queue.close() }
        return try queue.read(NullKeys.all)
    }
}
