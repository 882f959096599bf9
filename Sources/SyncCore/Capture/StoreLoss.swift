import SyncStorage
import SyncValues

/// What of a store is gone for good when tables of it were dropped.
public enum StoreLoss: Sendable, Hashable {
    /// Which store and replica it was: it is a new store.
    case identity
    /// The transactions up to now.
    case history
    /// What was written and not yet moved into the history tables.
    case log
    /// Who wrote the transactions up to now.
    case authors
    /// The registered consumers.
    case consumers
    /// The fingerprints of rows: what was written unseen before now is not found by comparing.
    case fingerprints
    /// What merging knew: it is a store of its own now.
    case replication
    /// How the table was recorded.
    case options(table: String)

    /// One sentence for a person, with what to do where there is something.
    public var explanation: String {
        switch self {
        case .identity:
            "its identity is lost: it is a new store now; tokens and remotes of before refuse it"
        case .history: "its history before now is gone; readers have to read the present objects"
        case .log:
            "what was written and not yet in its history is gone; readers have to read the present "
                + "objects"
        case .authors: "the authors of its history are gone"
        case .consumers: "its registered consumers are gone: they have to register again"
        case .fingerprints:
            "the fingerprints of its rows are gone: what was written unseen before now is not found"
        case .replication:
            "what synchronising knew is lost: it is a store of its own now, which its remotes "
                + "refuse. To join one again: synctool remote remove DB NAME, then "
                + "synctool remote add DB NAME URL --join by-key"
        case .options(let table):
            "how \(table) was recorded is not known: it is recorded as by default now"
        }
    }
}
