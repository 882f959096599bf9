import SyncClient
import SyncCore

/// Follows a store without a daemon: watches the file and reads what each commit brought.
///
/// Position: `token` is the last transaction that `body` got; it only moves forward. What `look()`
/// found too large comes from history after it.
struct FileWatch {
    let path: String
    let choice: WatchChoice

    func run(_ body: @Sendable (Notice) throws -> Bool) async throws {
        let store = try Store.open(path)
        let watcher = try StoreWatcher()
        let (events, continuation) = AsyncStream.makeStream(
            of: StoreEvent.self, bufferingPolicy: .bufferingNewest(8))
        let id = watcher.add(path: path, index: try store.walIndex()) { continuation.yield($0) }
        defer {
            watcher.remove(id)
            watcher.stop()
            // Nothing is kept in memory that a failing close could lose.
            try? store.close()
        }
        var token = try choice.after ?? store.head()
        try store.check(token)
        guard try body(.began(token)) else { return }
        for await event in events {
            switch event {
            case .committed: guard try deliver(store, after: &token, body) else { return }
            case .removed, .replaced:
                throw SyncError(
                    event == .removed ? .storeRemoved : .storeReplaced,
                    event == .removed ? "the file is gone" : "another file is at this path now",
                    operation: "watch", path: path, hint: "Look at it: synctool status DB")
            case .journalModeChanged: watcher.setIndex(try store.walIndex(), of: id)
            }
        }
    }

    private func deliver(
        _ store: Store, after token: inout Token, _ body: @Sendable (Notice) throws -> Bool
    ) throws -> Bool {
        // A look fixes the boundaries of what was just committed; history then gives it, filtered.
        _ = try store.look()
        var query = choice.filter
        query.after = token
        let head = try store.head()
        guard head.number > token.number else { return true }
        query.upTo = head
        var goesOn = true
        try store.forEachTransaction(query) { transaction in
            goesOn = try body(.transaction(transaction))
            return goesOn
        }
        token = head
        return goesOn
    }
}
