import SyncCore

/// Work on an open store that fails at present: the last attempt did, and none has succeeded since.
public struct StoreTrouble: Sendable, Hashable {
    /// What fails.
    public enum Work: String, Sendable, Hashable, CaseIterable {
        /// Commits cannot be read: nobody is told of them.
        case reading
        /// The triggers cannot be put right: changes may not be recorded.
        case repairing
        /// The log cannot be moved into the history tables. Nothing is lost.
        case digesting
        /// Where commits end cannot be noted: they are told when they are in the history tables.
        case journal
        /// SQLite cannot read the rows of a table without the application that wrote them.
        case unreadable
        /// Another program dropped tables of the store, and it is a new one without remotes since.
        case remade
        /// The file has several names (hard links): another one may be opened, and damages it.
        case links
        /// The rows cannot be compared with the history.
        case comparing
        /// History beyond its limits cannot be purged.
        case purging
        /// The connection of a store that is not in use cannot be closed.
        case resting
        /// The store is recorded otherwise than the configuration says.
        case configuration
        /// Something that this version does not know.
        case other
    }

    /// What fails.
    public let work: Work
    /// Why, in one sentence without a full stop.
    public let reason: String
    /// What to do next.
    public let hint: String?
    /// Since when.
    public let since: Timestamp

    /// Makes a trouble.
    public init(_ work: Work, reason: String, hint: String? = nil, since: Timestamp) {
        self.work = work
        self.reason = reason
        self.hint = hint
        self.since = since
    }

    /// What fails and why, in one sentence without a full stop.
    public var text: String {
        switch work {
        case .reading: "commits cannot be read: \(reason)"
        case .repairing: "the triggers cannot be repaired: \(reason)"
        case .digesting: "the log cannot be moved into the history: \(reason)"
        case .journal, .unreadable, .remade, .links, .other: reason
        case .comparing: "the rows cannot be compared with the history: \(reason)"
        case .purging: "history cannot be purged: \(reason)"
        case .resting: "the file cannot be closed while it is not in use: \(reason)"
        case .configuration: "not recorded as configured: \(reason)"
        }
    }
}
