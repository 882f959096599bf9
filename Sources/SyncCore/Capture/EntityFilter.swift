import SyncStorage

/// Which tables become entities. Names compare as SQLite compares them.
public enum EntityFilter: Sendable, Hashable {
    /// Every table that can be recorded.
    case all
    /// These only; naming a table that does not exist is an error.
    case only([String])
    /// All but these.
    case except([String])

    /// The filter lets the table of that name pass.
    public func includes(_ name: String) -> Bool {
        switch self {
        case .all: return true
        case .only(let names): return names.contains { SQLName.isEqual($0, to: name) }
        case .except(let names): return !names.contains { SQLName.isEqual($0, to: name) }
        }
    }
}
