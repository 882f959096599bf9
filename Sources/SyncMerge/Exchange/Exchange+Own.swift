import SyncValues

extension Exchange {
    /// Verifies that a remote has no transactions under the replica's identity that the replica did
    /// not write (``Replica/foreignNumber(in:)``).
    ///
    /// Numbers that were sent before are not checked again. A restored file to which more was
    /// written may have reached the numbers that it had lost: so everything that the remote has
    /// beyond what was sent is compared, transaction by transaction.
    /// - Parameter claimed: up to where the remote leads.
    /// - Throws: `refused`, with the batch and its sender.
    package func requireOwn(upTo claimed: VersionVector) async throws {
        let own = try await replica.replicaID
        let number = claimed[own]
        let sent = try await replica.sent
        guard number > sent ?? 0 else { return }
        let vector = try await replica.vector
        let known = min(sent ?? vector[own], vector[own])
        guard number > known else { return }
        var since = VersionVector(vector.entries.filter { $0.replica != own })
        since.advance(to: Dot(own, known))
        let store = try await replica.store
        let isSigning = try await replica.isSigning
        var found: ForeignTransactions?
        for _ in 0..<Self.uselessMax where found == nil {
            let items = try await remote.catalog(since: since).items
                .filter { $0.envelope.store == store }
            for item in items where item.envelope.upTo[own] > known {
                if !isSigning, item.envelope.upTo[own] > vector[own] {
                    found = ForeignTransactions(
                        replica: own, number: item.envelope.upTo[own], sender: item.envelope.sender,
                        name: item.name)
                }
                guard item.envelope.from[own] < item.envelope.upTo[own] else { continue }
                do {
                    let batch = try await remote.fetch(item)
                    if let number = try await replica.foreignNumber(in: batch) {
                        found = ForeignTransactions(
                            replica: own, number: number, sender: item.envelope.sender,
                            name: item.name)
                    }
                } catch let error as SyncError where error.code == .badData {
                    // Skipped, and reported when it is to be merged.
                }
            }
            let reached = items.reduce(since) { $0.joined($1.envelope.upTo) }
            if remote.keepsBatches || reached == since { break }
            // One that makes batches on demand lists what follows next.
            since = reached
        }
        if let found { throw found.error }
        // Who signs believes no claim: what was sent is noted with each batch.
        if !isSigning { try await replica.noteSent(number) }
    }

    /// Where a push starts: the remote's head, but of a replica that signs without the batches that
    /// claim more of it than it has sent. A writer of the remote could otherwise make it
    /// believe that its next transactions are there already.
    /// - Parameter known: what counts as present though it cannot be read.
    /// - Throws: what the remote and the replica throw.
    func startOfPush(
        from head: VersionVector, knowing known: VersionVector
    ) async throws -> VersionVector {
        let own = try await replica.replicaID
        let sent = try await replica.sent ?? 0
        guard try await replica.isSigning, head[own] > sent else { return head }
        let items = try await remote.catalog(since: VersionVector()).items
            .filter { $0.envelope.upTo[own] <= sent }
        return BatchCatalog(items).reach(since: known, for: try await replica.membership)
    }
}
