import SyncReplica

extension StoreReplica {
    /// One exchange with a remote: connects, moves batches, disconnects. The file remembers
    /// whether it failed (``LastExchange``).
    ///
    /// A batch under a key that the ring does not have is skipped; what can be read is merged
    /// first, and only then the missing key is an error.
    /// - Parameters:
    ///   - ring: the store's keys.
    ///   - progress: gets the totals so far, after each batch.
    ///   - whileConnected: runs after the exchange, on the same connection.
    ///   - completed: gets the report after the connection has ended, also when a key is missing.
    /// - Returns: what was moved; what could not be read, or not be used, is a
    ///   ``SyncMerge/ExchangeReport/lack`` in it.
    /// - Throws: as ``RemoteConnection/init(_:store:replica:ring:)`` and ``Exchange``;
    ///   `notAllowed` when a key is missing; what the two closures throw.
    package func exchange(
        _ direction: ExchangeDirection, with entry: RemoteEntry, ring: KeyRing,
        progress: @escaping @Sendable (ExchangeReport) -> Void = { _ in },
        whileConnected: (RemoteConnection) async throws -> Void = { _ in },
        completed: (ExchangeReport) throws -> Void = { _ in }
    ) async throws -> ExchangeReport {
        // Before the remote is looked at: what another process sends from now on may be missed.
        let known = try knownReach(of: entry.url)
        var report = try await remembering(direction, at: entry.url) {
            try await RemoteConnection.with(
                entry, store: storeID, replica: replicaID, ring: ring
            ) { connection in
                let report = try await connection.exchange(
                    direction, of: self, knownReach: { known }, progress: progress)
                try await whileConnected(connection)
                return report
            }
        }
        if let found = report.found {
            report.rewound = try noteReach(
                found, had: known, after: report.head, isWhole: report.problems.isEmpty,
                unread: report.lack?.reason, at: entry.url)
        }
        report.doubtful = try doubtful.problem
        try completed(report)
        if let key = report.missingKey { throw BatchSeal.missingKey(key) }
        return report
    }

    /// Has the file remember how the exchange ended, for `status` and `doctor`.
    private func remembering(
        _ direction: ExchangeDirection, at url: String, _ body: () async throws -> ExchangeReport
    ) async throws -> ExchangeReport {
        let directions = direction.parts
        do {
            let report = try await body()
            if let key = report.missingKey {
                note(failure: BatchSeal.missingKey(key), of: directions, at: url)
            } else {
                try noteSuccess(of: directions, at: url)
            }
            return report
        } catch let error as SyncError {
            note(failure: error, of: directions, at: url)
            throw error
        }
    }
}
