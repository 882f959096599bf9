import SyncCore

/// What to watch of a store.
struct WatchChoice: Sendable {
    var after: Token?
    /// Uses `entities`, `kinds`, `properties`, `authors` and `excludedAuthors`.
    var filter = HistoryQuery()
    var held: [ObjectName] = []
}
