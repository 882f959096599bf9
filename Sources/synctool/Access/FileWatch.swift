import SyncClient
import SyncCore

/// Follows a store without the daemon: watches the file and reads the history after each commit.
///
/// Invariant: `token` is the position after the last transaction passed to `body`; it only moves
/// forward.
struct FileWatch {
    /// How long rows that could not be settled wait for the next attempt: behind a writer, and
    /// where only the daemon or another user can do it.
    private static let pause = Duration.milliseconds(20)
    private static let longPause = Duration.milliseconds(500)

    let path: String
    let choice: WatchChoice

    /// How it ended to follow one file.
    private enum End {
        case stopped, replaced
        /// The -wal or the -shm was taken away before anything was told.
        case unbegun
    }

    /// - Throws: ``SyncError``; `storeRemoved` when the file was removed.
    func run(_ body: @Sendable (Notice) throws -> Bool) async throws {
        var isContinued = false
        while true {
            switch try await follow(isContinued: isContinued, body) {
            case .stopped: return
            case .replaced: isContinued = true
            case .unbegun: break
            }
        }
    }

    /// - Parameter isContinued: another file, or an older copy, took the place of the one before:
    ///   its transactions are told from its end on.
    private func follow(
        isContinued: Bool, _ body: @Sendable (Notice) throws -> Bool
    ) async throws -> End {
        let store = try Store.open(path)
        try store.mendCapture()
        let watcher = try StoreWatcher()
        let (events, continuation) = AsyncStream.makeStream(
            of: StoreEvent.self, bufferingPolicy: .bufferingNewest(8))
        let id = watcher.add(path: path, index: try store.walIndex()) { continuation.yield($0) }
        defer {
            watcher.remove(id)
            watcher.stop()
            // A failing close loses nothing: no data is kept in memory.
            try? store.close()
        }
        if store.isForsaken { return .unbegun }
        var token = try isContinued ? store.head() : choice.after ?? store.head()
        try store.check(token)
        try checkNames(in: store)
        let first: Notice =
            isContinued
            ? .storeReplaced(path: path, store: store.id, token: token) : .began(token)
        guard try body(first) else { return .stopped }
        var said: [String] = []
        try tellGaps(of: store, after: &said)
        for await event in events {
            switch event {
            case .committed:
                do {
                    guard try deliver(from: store, after: &token, to: body) else { return .stopped }
                } catch let error as SyncError where error.code == .foreignHistory {
                    return .replaced
                }
                try tellGaps(of: store, after: &said)
                if let unsettled = store.unsettled {
                    // Another writer holds the lock: its commit may raise no other event.
                    watcher.poke(id, after: unsettled.isTransient ? Self.pause : Self.longPause)
                }
            case .replaced: return .replaced
            case .removed:
                throw SyncError(
                    .storeRemoved, "the file was removed", operation: "watch", path: path,
                    hint: "Check it: synctool status DB")
            case .journalModeChanged:
                if store.isForsaken { return .replaced }
                watcher.setIndex(try store.walIndex(), of: id)
            }
        }
        return .stopped
    }

    /// A name that the store does not know would wait forever.
    /// - Throws: `unknownEntity`.
    private func checkNames(in store: Store) throws {
        var query = choice.filter
        query.limit = 0
        try store.forEachTransaction(matching: query) { _ in false }
    }

    /// Writes to tables whose triggers are missing are not told: that is said once.
    private func tellGaps(of store: Store, after said: inout [String]) throws {
        let gaps = store.unrecorded.map(\.explanation)
        guard gaps != said else { return }
        said = gaps
        for line in LocalStore.gaps(of: store) {
            try Terminal.error.line("\(path): \(TypedPath(path).fillingIn(line))")
        }
    }

    private func deliver(
        from store: Store, after token: inout Token, to body: @Sendable (Notice) throws -> Bool
    ) throws -> Bool {
        var query = choice.filter
        query.after = token
        // This makes the new commits part of history; the query then reads them, filtered.
        let head = try store.head()
        guard head.number > token.number else { return true }
        query.upTo = head
        var isWanted = true
        try store.forEachTransaction(matching: query, inParts: .message) { transaction in
            isWanted = try body(.transaction(transaction))
            return isWanted
        }
        token = head
        return isWanted
    }
}
