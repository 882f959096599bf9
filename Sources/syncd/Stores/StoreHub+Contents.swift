import SyncClient
import SyncCore
import SyncReplica

/// The contents of a store as they were counted last.
struct CountedContents: Sendable {
    /// The opening that they were counted in.
    let generation: Int
    /// ``HubState/changeCount`` before they were counted.
    let changeCount: Int
    let contents: StoreOverview.Contents
}

extension StoreHub {
    /// So many consumers and replicas, those that lack most: who may read a database may register
    /// any number of consumers.
    private static let listedMax = 100

    /// Counts what others wait for. The last result is given while nothing changed: a query would
    /// keep the store from its rest, and those who watch ask every second. Blocks.
    ///
    /// - Throws: ``SyncError`` of the queries.
    func contents(of opened: OpenedStore) throws -> StoreOverview.Contents {
        let changeCount = state.changeCount
        let known = lastContents.withLock { $0 }
        if let known, known.generation == opened.generation, known.changeCount == changeCount {
            return known.contents
        }
        let store = opened.store
        let names = try store.replicaNames()
        let readers = try store.consumers().sorted {
            ($0.kind == .writer ? 1 : 0, $0.acknowledged)
                < ($1.kind == .writer ? 1 : 0, $1.acknowledged)
        }
        let contents = StoreOverview.Contents(
            pendingRows: try store.pendingRowCount(), conflicts: try store.openConflictCount(),
            consumers: Array(readers.prefix(Self.listedMax)),
            replicas: try store.peerLags().prefix(Self.listedMax).map { lag in
                ReplicaLag(
                    replica: lag.replica, name: names[lag.replica], behind: lag.behind,
                    behindSince: lag.behindSince, isAbsent: lag.isAbsent)
            })
        lastContents.withLock {
            $0 = CountedContents(
                generation: opened.generation, changeCount: changeCount, contents: contents)
        }
        return contents
    }
}
