/// What others committed, as history describes it.
struct CommittedChange: Sendable {
    /// An object that was inserted or updated. Contexts that hold it read its row.
    struct Changed: Sendable {
        let root: EntityLayout
        let id: ManagedObjectID
        let isNew: Bool
    }

    var changed: [Changed] = []
    var deleted: [DeletedObject] = []
    /// Join tables whose pairs changed.
    var joinTables: Set<String> = []

    var isEmpty: Bool { changed.isEmpty && deleted.isEmpty && joinTables.isEmpty }
}
