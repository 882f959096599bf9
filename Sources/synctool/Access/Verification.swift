import SyncClient

/// The result of a check of the capture. Findings are sentences; none means no problems.
struct Verification: Sendable {
    var tables: [TableSummary]
    var findings: [String]
}
