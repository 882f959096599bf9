import SyncCore
import Varlink

/// A table of a database, and whether it is tracked.
public struct TableSummary: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// `tracked` or `skipped`.
    public let outcome: String
    /// Why it is skipped; of a tracked one: what of it cannot be done.
    public let reason: String?
    /// How to have it tracked, or what to do about that.
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
    ///
    /// - Parameter report: what the entry is of.
    public init(_ entry: TrackReport.Entry, of report: TrackReport) {
        switch entry.outcome {
        case .tracked, .alreadyTracked:
            let reason = report.unreadable[entry.table].map { reason in
                "but syncd cannot read its rows (\(reason)): what is written while its triggers "
                    + "are missing is not found"
            }
            self.init(
                name: entry.table, outcome: "tracked", reason: reason,
                hint: reason == nil ? nil : CaptureFinding.unreadableHint)
        case .leftAlone(let reason):
            self.init(name: entry.table, outcome: "skipped", reason: reason.explanation)
        }
    }
}
