import SyncCore
import Varlink

/// A table of a database, and whether it is tracked.
public struct TableSummary: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// `tracked` or `skipped`.
    public let outcome: String
    /// Why it is skipped.
    public let reason: String?
    /// How to have it tracked.
    public let hint: String?

    /// Makes a summary.
    public init(name: String, outcome: String, reason: String? = nil, hint: String? = nil) {
        self.name = name
        self.outcome = outcome
        self.reason = reason
        self.hint = hint
    }
}

extension TableSummary {
    /// The result of tracking a table.
    public init(_ entry: TrackReport.Entry) {
        switch entry.outcome {
        case .tracked, .alreadyTracked: self.init(name: entry.table, outcome: "tracked")
        case .leftAlone(let reason):
            self.init(name: entry.table, outcome: "skipped", reason: reason.explanation)
        }
    }
}
