import GRDB
import SyncCore

extension DatabaseWriter {
    /// Feeds the commits of other processes into GRDB's own observation, until the task is
    /// cancelled: every `ValueObservation` and `TransactionObserver` of this queue or pool sees
    /// them as if they had been made here.
    ///
    /// GRDB observes what is written through its own connections. This call subscribes to the
    /// daemon and notifies GRDB of the tables that changed:
    ///
    /// ```swift
    /// let pool = try DatabasePool(path: path)
    /// async let bridge: Void = pool.observeForeignCommits(of: path, through: StoreClient())
    /// for try await count in ValueObservation.tracking(Album.fetchCount).values(in: pool) { … }
    /// ```
    ///
    /// Nothing is missed: after a restart of the daemon the subscription continues at its last
    /// position, and where that is impossible (the file was replaced, history was purged)
    /// all tables count as changed. Commits of this connection are announced a second time;
    /// `removeDuplicates()` drops what does not change a value.
    ///
    /// An announcement takes no lock that a writer could hold: it is an empty deferred transaction.
    /// What GRDB then reads again is read with the busy mode of this queue or pool; give it a
    /// timeout, since GRDB's default fails at once where another process is committing.
    ///
    /// - Throws: ``SyncError`` of the subscription: `unknownStore`, `notAllowed`; errors of GRDB.
    public func observeForeignCommits(
        of store: String, through client: StoreClient
    ) async throws {
        var options = SubscriptionOptions()
        while !Task.isCancelled {
            do {
                for try await notice in client.subscribe(store, options: options) {
                    try await announce(notice)
                }
                return
            } catch let error as SyncError where error.needsResync {
                try await announceEverything()
                options.after = nil
            }
        }
    }

    private func announce(_ notice: Notice) async throws {
        switch notice {
        case .transaction(let transaction):
            let entities = Set(transaction.changes.map(\.entity)).sorted()
            try await announce { database in
                for entity in entities where try database.tableExists(entity) {
                    try database.notifyChanges(in: Table(entity))
                }
            }
        case .began, .storeReplaced, .storeReturned, .schemaChanged:
            // What was committed before the subscription began, or in another file, is not listed.
            try await announceEverything()
        case .gone, .changed, .replaced, .lagged, .storeRemoved, .historyPurged: break
        }
    }

    private func announceEverything() async throws {
        try await announce { try $0.notifyChanges(in: .fullDatabase) }
    }

    /// Tries again while the file is busy: an announcement that is dropped is a missed commit.
    private func announce(_ changes: @escaping @Sendable (Database) throws -> Void) async throws {
        while true {
            do {
                return try await writeWithoutTransaction { database in
                    try database.inTransaction(.deferred) {
                        try changes(database)
                        return .commit
                    }
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
