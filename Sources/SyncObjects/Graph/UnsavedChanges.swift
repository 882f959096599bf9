import SyncCore

/// What a context has to save. Confined to the context's gate.
///
/// Invariants: an object that is new, edited or to be deleted is in `objects`; delete causes and
/// newer values belong to objects that are to be deleted; `saveCount` only grows.
struct UnsavedChanges {
    private var pending = PendingObjects()
    private var deleteCauses: [ManagedObjectID: GoneCause] = [:]
    private var newerValues: [ManagedObjectID: [Value]] = [:]
    private var joinEdits: [String: SaveRequest.JoinEdit] = [:]
    /// Unchanged objects that the next save compares with the store.
    private(set) var checked: Set<ManagedObjectID> = []
    /// How often the context was saved.
    private(set) var saveCount = 0

    // MARK: Objects

    /// The objects with something to save, in the order in which they became so.
    var objects: [ManagedObject] { pending.objects }

    var hasObjects: Bool { !pending.isEmpty }

    func contains(where condition: (ManagedObject) -> Bool) -> Bool {
        pending.contains(where: condition)
    }

    mutating func add(_ object: ManagedObject) { pending.add(object) }

    mutating func remove(_ object: ManagedObject) { pending.remove(object) }

    // MARK: Deletions

    /// Why an object is to be deleted.
    func deleteCause(of id: ManagedObjectID) -> GoneCause { deleteCauses[id] ?? .deleted }

    mutating func setDeleteCause(_ cause: GoneCause?, of id: ManagedObjectID) {
        deleteCauses[id] = cause
    }

    /// What others saved of an object that is to be deleted; nil when its committed values are
    /// those of the store.
    ///
    /// These are not the object's committed values: that others changed an object which is to be
    /// deleted is a conflict of the save. They count when the deletion is taken back.
    func newerValues(of id: ManagedObjectID) -> [Value]? { newerValues[id] }

    mutating func setNewerValues(_ values: [Value]?, of id: ManagedObjectID) {
        newerValues[id] = values
    }

    // MARK: Pairs

    /// Pairs of any many-to-many relationship were edited.
    var hasJoinEdits: Bool { !joinEdits.isEmpty }

    /// The edits of join tables that change something, in the order of the tables' names.
    var changedJoins: [SaveRequest.JoinEdit] {
        joinEdits.values.filter { !$0.isEmpty }.sorted { $0.join.table < $1.join.table }
    }

    /// The edits of one join table; empty when there are none.
    func joinEdit(of join: JoinLayout) -> SaveRequest.JoinEdit {
        joinEdits[join.table] ?? SaveRequest.JoinEdit(join: join)
    }

    mutating func setJoinEdit(_ edit: SaveRequest.JoinEdit) { joinEdits[edit.join.table] = edit }

    // MARK: Saving

    /// There is something to save, or an object blocks the next save.
    var isSaveNeeded: Bool {
        pending.contains { $0.hasChanges || $0.phase == .gone }
            || joinEdits.values.contains { !$0.isEmpty }
    }

    mutating func check(_ id: ManagedObjectID) { checked.insert(id) }

    mutating func uncheck(_ id: ManagedObjectID) { checked.remove(id) }

    /// Forgets every change, because it was saved or dropped. Checks are kept.
    mutating func forget() {
        pending.removeAll()
        deleteCauses = [:]
        newerValues = [:]
        joinEdits = [:]
    }

    /// The context was saved.
    mutating func noteSave() {
        saveCount += 1
        checked = []
    }
}
