/// What of a store is gone for good when tables of it were dropped.
public enum StoreLoss: Sendable, Hashable {
    /// Which store and replica it was: it is a new store.
    case identity
    /// The transactions up to now.
    case history
    /// The changes that were not yet in the history tables.
    case log
    /// The authors of the transactions up to now.
    case authors
    /// The registered consumers.
    case consumers
    /// The fingerprints of rows: earlier missed changes cannot be found by comparing.
    case fingerprints
    /// The merge records: it is a separate store now.
    case replication
    /// How the table was recorded.
    case options(table: String)

    /// One sentence for a person, with what to do where there is something.
    public var explanation: String {
        switch self {
        case .identity:
            "its identity is lost: it is a new store now, which earlier tokens and remotes refuse"
        case .history: "its earlier history is lost: consumers must read the current objects"
        case .log:
            "recent changes that were not yet in the history are lost: consumers must read the "
                + "current objects"
        case .authors: "the authors in its history are lost"
        case .consumers: "its consumers are lost: they must register again"
        case .fingerprints:
            "the fingerprints of its rows are lost: earlier missed changes cannot be found"
        case .replication:
            "the merge records are lost: it is a separate store now, which its remotes refuse. "
                + "To join one again: synctool remote remove DB NAME, then "
                + "synctool remote add DB NAME URL --join by-key"
        case .options(let table):
            "the recording options of \(table) are lost: the defaults are used now"
        }
    }
}
