import SyncMerge

/// Triggers of the user on a random table: a log in a table that is not tracked, which fires during
/// a merge too, and a check, which does not: other replicas have written what it refuses here.
enum SimulatedTriggers {
    /// The table that the logs write. It has no key, so that it is not tracked.
    static let log = "CREATE TABLE seen(what)"

    /// Draws the triggers of a table.
    static func draw(_ draft: EntityDraft, _ random: inout SeededRandom) -> [String] {
        var triggers: [String] = []
        if random.chance(0.25) {
            let event = random.pick(["INSERT", "UPDATE", "DELETE"])
            let row = event == "DELETE" ? "OLD" : "NEW"
            triggers.append(
                "CREATE TRIGGER \(draft.name)_log AFTER \(event) ON \(draft.name) "
                    + "BEGIN INSERT INTO seen VALUES (\(row).d); END")
        }
        if draft.roles.contains(.unique), random.chance(0.25) {
            let column = draft.roles.firstIndex(of: .unique) ?? 0
            triggers.append(
                "CREATE TRIGGER \(draft.name)_check BEFORE INSERT ON \(draft.name) "
                    + "WHEN NEW.\(draft.columnName(column)) = 'u3' "
                    + "BEGIN SELECT RAISE(ABORT, 'not u3'); END")
        }
        return triggers
    }
}
