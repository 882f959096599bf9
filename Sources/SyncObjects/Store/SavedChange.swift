/// What a save of this process wrote.
struct SavedChange: Sendable {
    var inserted: [StoredRow] = []
    var updated: [StoredRow] = []
    var deleted: [DeletedObject] = []
    /// Join tables whose pairs changed.
    var joinTables: Set<String> = []
    /// The end of the log after the save; 0 where it does not matter, or there is no history.
    var logPosition: Int64 = 0

    var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && joinTables.isEmpty
    }
}
