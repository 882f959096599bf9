import SyncClient

/// What a check of the capture found: findings are sentences, empty when all is well.
struct Verification: Sendable {
    var tables: [TableSummary]
    var findings: [String]
}
