import SyncValues

/// What ``Tracker/track(entities:options:)`` did with each table.
public struct TrackReport: Sendable, Hashable {
    /// What became of one table.
    public enum Outcome: Sendable, Hashable {
        /// Recorded from now on; the entity's number.
        case tracked(entity: Int64)
        /// Was recorded before; the entity's number.
        case alreadyTracked(entity: Int64)
        /// Not recorded.
        case leftAlone(Reason)
    }

    /// Why a table is not recorded.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        case noDeclaredKey, virtual, shadow, view, `internal`, filteredOut
        case tooManyColumns

        /// One sentence for a person, without a full stop.
        public var explanation: String {
            switch self {
            case .noDeclaredKey: return "it declares no PRIMARY KEY, so its rows have no identity"
            case .virtual: return "it is a virtual table, which cannot have triggers"
            case .shadow: return "it holds the data of a virtual table"
            case .view: return "it is a view"
            case .internal: return "it is SQLite's own"
            case .filteredOut: return "not selected with --entity"
            case .tooManyColumns: return "it has more columns than triggers can record"
            }
        }
    }

    /// One table and what became of it.
    public struct Entry: Sendable, Hashable {
        /// The name as the schema spells it.
        public var table: String
        /// What became of it.
        public var outcome: Outcome
    }

    /// The store's identifier, the same in all its replicas.
    public var store: StoreID
    /// The identifier of this copy.
    public var replica: ReplicaID
    /// Every table of the database, in order of name.
    public var entries: [Entry]
    /// What was repaired first, because tables of the store had been dropped; nil: nothing.
    public var repair: RepairReport?

    /// The recorded tables whose rows SQLite cannot read in this process, with the reason: what is
    /// written while their triggers are missing is not found.
    public package(set) var unreadable: [String: String] = [:]

    /// The names of the tables that are recorded now.
    public var tracked: [String] {
        entries.compactMap {
            if case .leftAlone = $0.outcome { return nil }
            return $0.table
        }
    }

    /// The tables that are not recorded, and why.
    public var leftAlone: [(table: String, reason: Reason)] {
        entries.compactMap {
            guard case .leftAlone(let reason) = $0.outcome else { return nil }
            return ($0.table, reason)
        }
    }
}
