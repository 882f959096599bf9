import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// Sums of what this replica has merged, for others to compare; nil while it has merged only
    /// some of the batches that belong together.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(entities); the first time O(facts of the store).
    package var sums: [UInt8]? {
        get throws {
            let newest = try run("compare") {
                session -> (VersionVector, StateSums?, MergePolicies) in
                // The sums are kept at the end of a transaction.
                try session.transact { _ in }
                let state = try session.read { storage in
                    (try storage.headers.vector(), try storage.sums.newest(), storage.policies)
                }
                return state ?? (VersionVector(), nil, MergePolicies())
            }
            guard let sums = newest.1 else { return nil }
            let policies = newest.2 == MergePolicies() ? "" : try newest.2.json()
            let at = StateSums.at(newest.0, policies: policies, store: storeID)
            return sums.at == at ? sums.encoded(store: storeID) : nil
        }
    }

    /// Compares what other replicas state with what this one stated of the same moment.
    /// - Parameter sums: of each replica, as it encoded them; what cannot be read is ignored.
    /// - Returns: the replicas that differed from this one when they were last compared.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(replicas · entities)
    package func compare(_ sums: [ReplicaID: [UInt8]]) throws -> [StateDifference] {
        let store = storeID
        let readable = sums.compactMapValues { try? StateSums($0, store: store) }
        return try run("compare") { session in
            try session.transact { transaction in
                try SumComparing(transaction).compare(
                    readable, at: session.environment.wall(), lease: Self.lease.milliseconds)
            }
        }
    }

    /// How many of the sums of other replicas are of a moment that this one has sums of: for
    /// simulations.
    /// - Throws: ``SyncError``: SQLite errors.
    package func comparedCount(among sums: [ReplicaID: [UInt8]]) throws -> Int {
        try run("compare") { session in
            try session.read { storage in
                try sums.count { replica, bytes in
                    guard replica != replicaID,
                        let theirs = try? StateSums(bytes, store: storeID),
                        let own = try storage.sums.sums(at: theirs.at)
                    else { return false }
                    return own.compared(with: theirs).map { !$0.compared.isEmpty } ?? false
                }
            } ?? 0
        }
    }

    /// Computes the sums of all facts again, and drops what was stated and found before: the next
    /// exchange compares what is here now.
    /// - Returns: the entities whose sums were not those of their facts: another program changed
    ///   the tables of merging.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(facts of the store)
    package func mendSums() throws -> [String] {
        try run("compare") { session in
            try session.transact { transaction in
                let storage = transaction.storage
                let wrong = try storage.totals.wrong(objects: storage.objects)
                try storage.totals.forget()
                try storage.sums.forget()
                try storage.comparisons.forgetDifferences()
                return wrong
            }
        }
    }

    /// Computes again which objects were written after a place, where another program has changed
    /// that.
    /// - Returns: whether something was missing: it may not have been sent.
    /// - Throws: ``SyncError``: as ``vector``.
    /// - Complexity: O(objects)
    package func mendExtents() throws -> Bool {
        try run("compare") { session in
            try session.transact { transaction in
                let connection = transaction.connection
                guard try ObjectExtents.uncovered(on: connection) != nil else { return false }
                try ObjectExtents.remake(on: connection)
                return true
            }
        }
    }
}
