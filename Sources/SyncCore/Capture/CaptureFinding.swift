/// Something about a store's triggers that is not as it should be.
public struct CaptureFinding: Sendable, Hashable {
    /// What is wrong.
    public enum Problem: Sendable, Hashable {
        /// The table has none of its triggers or not all: it was rebuilt, or they were dropped.
        case triggersMissing([String])
        /// The table has changed: what its triggers record is not all, or not right.
        case triggersOutdated
        /// The triggers record every change, and not all causes: an earlier version of syncd
        /// created them, or tables were created since that refer to this one.
        case triggersWithoutCauses
        /// The table, its columns or a table that it refers to were renamed; the triggers followed
        /// and still record.
        case renamed(to: String)
        /// The table was dropped.
        case tableDropped
        /// A table without an entity.
        case newTable
        /// A user trigger that was created after the capture triggers runs before them: its changes
        /// could be missed.
        case triggersOutOfOrder
        /// The table has capture triggers of no entity: they remain from another history.
        case triggersOrphaned([String])
        /// A table, index or trigger of the store is missing: the log, the guard, the marker.
        case storeObjectMissing(String)
        /// A UNIQUE index, or a trigger of the user that writes to the table, was created since.
        /// All changes are recorded, but for rows that are replaced.
        case replacedRowsUnseen
        /// A column was dropped: of what was changed without the triggers, only inserted and
        /// deleted rows were found.
        case partlyCompared
        /// A migration runs: the triggers are out of its way until it ends.
        case migrating(String)
        /// SQLite cannot read the rows in this process, for this reason: what is written while
        /// triggers are missing is not found.
        case unreadable(String)

        /// An object made by capture is missing or was changed.
        var isOfOwnObjects: Bool {
            switch self {
            case .triggersMissing, .triggersOutdated, .triggersWithoutCauses, .replacedRowsUnseen,
                .storeObjectMissing:
                true
            default: false
            }
        }

        /// Whether it is put right before new tables are recorded: one that was renamed is not new.
        var isDueBeforeTracking: Bool {
            if case .renamed = self { return true }
            return isOfOwnObjects
        }
    }

    /// The entity's number; nil for an object of the store, and for a table that is not recorded.
    public var entity: Int64?
    /// The table's name: as recorded, or of the new table.
    public var table: String
    /// What is wrong.
    public var problem: Problem

    /// Changes may have been lost since it happened: compare with the last known state.
    public var mayHaveLostChanges: Bool {
        switch problem {
        case .triggersMissing, .triggersOutdated, .replacedRowsUnseen, .storeObjectMissing,
            .tableDropped:
            return true
        case .triggersWithoutCauses, .renamed, .newTable, .triggersOutOfOrder, .triggersOrphaned,
            .partlyCompared, .migrating, .unreadable:
            return false
        }
    }
}

extension CaptureFinding {
    /// What to do about a table that is `unreadable`.
    public static let unreadableHint =
        "Rebuild it with a key that SQLite itself can compare (COLLATE BINARY, NOCASE or RTRIM), "
        + "or track the other tables alone: synctool untrack DB, then synctool track DB --entity "
        + "NAME"

    /// A table is gone or has come: more may follow at once.
    public var isHalfOfARebuild: Bool { problem == .tableDropped || problem == .newTable }

    /// The store is to be left alone until a migration has ended.
    public var isOfMigration: Bool {
        if case .migrating = problem { true } else { false }
    }

    /// One sentence for a person, with the command that helps where there is one.
    public var explanation: String {
        switch problem {
        case .triggersMissing(let names):
            "\(table): triggers are missing (\(names.joined(separator: ", ")))"
        case .triggersOutdated: "\(table): the table has changed since its triggers were created"
        case .triggersWithoutCauses:
            "\(table): the triggers record every change, but perhaps not all causes; "
                + "run: synctool doctor DB --mend"
        case .replacedRowsUnseen:
            "\(table): its UNIQUE indexes, or the triggers that write to it, have changed; rows "
                + "that are replaced may not be recorded"
        case .renamed(let name): "\(table): renamed to \(name)"
        case .tableDropped: "\(table): the table was dropped"
        case .newTable:
            entity == nil
                ? "\(table): a new table that is not tracked; run: synctool track DB"
                : "\(table): a new table, tracked from now on"
        case .triggersOutOfOrder: "\(table): a user trigger runs before the triggers of syncd"
        case .triggersOrphaned(let names):
            "\(table): triggers of another history remain (\(names.joined(separator: ", ")))"
        case .partlyCompared:
            "\(table): a column was dropped; inserted and deleted rows are recorded, updates of "
                + "other columns are not"
        case .unreadable(let reason):
            "\(table): syncd cannot read its rows (\(reason)); its triggers record changes, but "
                + "what is written while they are missing is not found"
        case .migrating(let command):
            "a migration runs (\(command)); its changes are recorded when it ends"
        case .storeObjectMissing(let name):
            StoreBlueprint.items[name]?.part == .replication && name == table
                && StoreBlueprint.items[name]?.type == "table"
                ? "\(name) was dropped, but synchronisation needs it; "
                    + "run: synctool doctor DB --mend"
                : "\(name) of the history is missing"
        }
    }
}
