import SyncValues

extension Exchange {
    /// Verifies that a remote has no transactions under the replica's identity that the replica did
    /// not write (``Replica/foreignNumber(in:)``).
    ///
    /// Numbers that were sent before are not checked again. A restored file to which more was
    /// written may have reached the numbers that it had lost: so everything that the remote has
    /// beyond what was sent is compared, transaction by transaction.
    /// - Parameter claimed: up to where the remote leads.
    /// - Returns: up to which number nothing has to be compared any more; nil: the remote was not
    ///   asked.
    /// - Throws: `refused`, with the batch and its sender.
    @discardableResult
    package func requireOwn(upTo claimed: VersionVector) async throws -> Int64? {
        let own = try await replica.replicaID
        var number = claimed[own]
        let sent = try await replica.sent
        guard number > sent ?? 0 else { return nil }
        let vector = try await replica.vector
        let known = min(sent ?? vector[own], vector[own])
        guard number > known else { return nil }
        var since = VersionVector(vector.entries.filter { $0.replica != own })
        since.advance(to: Dot(own, known))
        let store = try await replica.store
        let isSigning = try await replica.isSigning
        var found: ForeignTransactions?
        try await forEachCatalog(since: since) { catalog in
            for item in catalog.items
            where item.envelope.store == store && item.envelope.upTo[own] > known {
                if !isSigning, item.envelope.upTo[own] > vector[own] {
                    found = ForeignTransactions(
                        replica: own, number: item.envelope.upTo[own], sender: item.envelope.sender,
                        name: item.name)
                }
                if !remote.keepsBatches { number = max(number, item.envelope.upTo[own]) }
                guard item.envelope.from[own] < item.envelope.upTo[own] else { continue }
                do {
                    let batch = try await remote.fetch(item)
                    if let foreign = try await replica.foreignNumber(in: batch) {
                        found = ForeignTransactions(
                            replica: own, number: foreign, sender: item.envelope.sender,
                            name: item.name)
                    }
                } catch let error as SyncError where error.code == .badData {
                    // Skipped, and reported when it is to be merged.
                }
            }
            return found == nil
        }
        if let found { throw found.error }
        // Who signs believes no claim: what was sent is noted with each batch.
        if !isSigning { try await replica.noteSent(number) }
        return number
    }

    /// How many catalogs of a remote that makes batches on demand are read in succession: those of
    /// some 250 GB. One that claims more and more would keep the exchange for as long as it likes.
    private static var catalogsMax: Int { 1 << 16 }

    /// Reads all that the remote has for a receiver that has merged `since`. One that makes batches
    /// on demand lists those that come next, and what follows to a receiver that has these.
    /// - Parameter body: gets one catalog after the other; false: no more.
    /// - Throws: `badData` when there is no end of them; what `body` throws.
    private func forEachCatalog(
        since: VersionVector, _ body: (BatchCatalog) async throws -> Bool
    ) async throws {
        var since = since
        for _ in 0..<Self.catalogsMax {
            let catalog = try await remote.catalog(since: since)
            guard try await body(catalog), !remote.keepsBatches else { return }
            let reached = catalog.items.reduce(since) { $0.joined($1.envelope.upTo) }
            if reached == since { return }
            since = reached
        }
        throw SyncError(
            .badData, "the remote lists batches without end",
            hint: "Synchronise with another remote: synctool remote list DB")
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
        var items: [BatchCatalog.Item] = []
        try await forEachCatalog(since: VersionVector()) { catalog in
            items += catalog.items.filter { $0.envelope.upTo[own] <= sent }
            return true
        }
        return BatchCatalog(items).reach(since: known, for: try await replica.membership)
    }
}
