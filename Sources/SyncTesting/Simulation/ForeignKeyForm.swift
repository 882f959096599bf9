import SyncMerge

/// How a foreign key of a random schema is declared, beyond what merging sees of it.
struct ForeignKeyForm {
    private let isDeferred: Bool
    private let isNoAction: Bool
    private let onUpdate: String

    /// Draws the declaration.
    init(isDeferred: Bool, _ random: inout SeededRandom) {
        self.isDeferred = isDeferred
        isNoAction = random.chance(0.5)
        let all = ["NO ACTION", "RESTRICT", "SET NULL", "SET DEFAULT"]
        onUpdate = random.chance(0.75) ? "CASCADE" : random.pick(all)
    }

    /// What follows the columns that are referred to.
    func sql(_ onDelete: MergeEntity.Reference.Action) -> String {
        let action = onDelete == .restrict && isNoAction ? "NO ACTION" : onDelete.sql
        return " ON DELETE \(action) ON UPDATE \(onUpdate)"
            + (isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : "")
    }
}
