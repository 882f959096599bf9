import SyncMerge

extension MergeTransaction {
    /// Stores the newest transaction of this replica that another one may have.
    /// - Throws: SQLite errors.
    func noteSent(_ number: Int64) throws {
        guard try settings.value(.sent) == .null || settings.integer(.sent) < number else { return }
        try settings.set(.sent, to: .integer(number))
    }

    /// The newest transaction of this replica that another one may have. Where it was not stored,
    /// because an older version of the program sent it: the newest that another replica has
    /// acknowledged.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func newestSent() throws -> Int64 {
        if case .integer(let number) = try settings.value(.sent) { return number }
        return try storage.peers.all().values.map { $0.merged[identity.replica] }.max() ?? 0
    }
}
