extension Store {
    /// Whether a repair that nobody saw made this a new store.
    ///
    /// - Throws: ``SyncError``: `busy`, `storeReplaced`.
    package func remade() throws -> RemadeStore? {
        try explaining("status") { try reading.read { try RemadeStore($0.metadata) } }
    }

    /// The same of a file.
    ///
    /// - Throws: as ``Store/open(_:)``.
    package static func remade(_ path: String) throws -> RemadeStore? {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.remade()
    }
}
