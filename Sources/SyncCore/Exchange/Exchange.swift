/// Moves batches between a replica and a remote.
///
/// There is no state between calls: where an exchange was interrupted, the next one goes on,
/// because both sides say what they have. Everything may be repeated.
package struct Exchange<Local: Replica, Peer: Remote>: Sendable {
    /// What an exchange moved.
    package struct Report: Sendable, Hashable {
        /// Transactions sent.
        package var pushedCount = 0
        /// Transactions merged.
        package var pulledCount = 0
        /// Bytes of batches, both ways.
        package var bytes = 0
        /// What was passed over at the remote, and why.
        package var problems: [BatchCatalog.Problem] = []

        /// Nothing yet.
        package init() {}
    }

    private let replica: Local
    private let remote: Peer

    /// Ties a replica to a remote.
    package init(_ replica: Local, _ remote: Peer) {
        self.replica = replica
        self.remote = remote
    }

    /// Sends what the remote lacks.
    /// - Throws: `unreachable`, and whatever the replica throws. What was sent until then stays.
    package func push() async throws -> Report {
        var report = Report()
        let since = try await remote.head().meet(try await replica.vector)
        for batch in try await replica.batches(since: since) {
            let envelope = try BatchEnvelope.read(batch).envelope
            try await remote.append(batch)
            report.pushedCount += envelope.transactionCount
            report.bytes += batch.count
        }
        return report
    }

    /// Merges what the remote has and the replica lacks. A batch that turns out to be damaged is
    /// passed over and named; another way around it is taken where there is one.
    /// - Throws: `unreachable`, and whatever the replica throws. What was merged until then stays.
    package func pull() async throws -> Report {
        var report = Report()
        var passedOver: Set<String> = []
        let store = try await replica.store
        while true {
            let before = try await replica.vector
            let catalog = try await remote.catalog(since: before)
            report.problems += catalog.problems.filter { !report.problems.contains($0) }
            let usable = catalog.items.filter {
                !passedOver.contains($0.name) && $0.envelope.store == store
            }
            guard let next = BatchCatalog(usable).path(since: before).first else { return report }
            do {
                let bytes = try await remote.fetch(next)
                guard try await replica.merge(bytes) else {
                    throw SyncError(.badData, "the batch starts after what its envelope says")
                }
                report.bytes += bytes.count
            } catch let error as SyncError where error.code == .badData {
                passedOver.insert(next.name)
                report.problems.append(.init(name: next.name, reason: error.reason))
                continue
            }
            let after = try await replica.vector
            if after == before { passedOver.insert(next.name) }
            report.pulledCount += next.envelope.transactionCount
        }
    }

    /// Pulls, then pushes.
    package func sync() async throws -> Report {
        var report = try await pull()
        let pushed = try await push()
        report.pushedCount = pushed.pushedCount
        report.bytes += pushed.bytes
        return report
    }
}
