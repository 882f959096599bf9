import SyncMerge

/// A simulated replica that exchanges batches with remotes.
package actor SimulatedPeer: Replica {
    /// Its identifier among the replicas.
    package nonisolated let id: ReplicaID

    private let replica: SimulatedReplica
    /// The maximum number of transactions in a batch.
    private let slice: Int

    /// An empty replica. Names must differ.
    /// - Parameter slice: the maximum number of transactions in a batch.
    /// - Throws: what creating its database throws.
    package init(_ name: Character, schema: SimulatedSchema, slice: Int = .max) throws {
        replica = try SimulatedReplica(name, schema: schema, seed: UInt64(name.asciiValue ?? 0))
        self.slice = slice
        id = SimulatedReplica.id(name)
    }

    package var replicaID: ReplicaID { id }

    package var store: StoreID { SimulatedReplica.store }

    package var vector: VersionVector { replica.state.vector }

    package func outgoing(since: VersionVector) throws -> any BatchSource {
        ListedBatches(try batches(since: since))
    }

    /// The batches that a receiver lacks that has merged `since`.
    /// - Throws: what encoding them throws.
    package func batches(since: VersionVector) throws -> [[UInt8]] {
        var batches: [[UInt8]] = []
        var since = since
        var count = min(slice, replica.state.order.count)
        while true {
            let delta = replica.state.delta(since: since, first: count)
            if !delta.headers.isEmpty {
                batches.append(
                    try BatchEncoder.encode(
                        Batch(
                            delta, schema: replica.state.schema, store: SimulatedReplica.store,
                            sender: replica.id)))
                since = delta.upTo
            }
            if count == replica.state.order.count { return batches }
            count += min(slice, replica.state.order.count - count)
        }
    }

    package func merge(_ batch: [UInt8]) throws -> Bool {
        let decoded = try BatchDecoder.decode(batch)
        return try replica.receive(decoded.resolved(in: replica.state.schema).delta)
    }

    /// Runs a statement as one transaction.
    /// - Throws: what SQLite reports.
    package func transact(_ statement: String) throws { try replica.transact(statement) }

    /// The rows of a query.
    /// - Throws: what SQLite reports.
    package func query(_ sql: String) throws -> [[Value]] { try replica.query(sql) }

    /// The tables without the numbers that are private to the replica.
    /// - Throws: what SQLite reports.
    package func canonical() throws -> [ObjectUID: [Field]] { try replica.canonical() }
}
