import SyncMerge

/// A simulated replica that exchanges batches with remotes.
package actor SimulatedPeer: Replica {
    /// Its name among the replicas.
    package nonisolated let id: ReplicaID

    private let replica: SimulatedReplica
    /// How many transactions go into one batch at most.
    private let slice: Int

    /// An empty replica; names must differ.
    package init(_ name: Character, _ schema: SimulatedSchema, slice: Int = .max) throws {
        replica = try SimulatedReplica(name, schema, seed: UInt64(name.asciiValue ?? 0))
        self.slice = slice
        id = SimulatedReplica.id(name)
    }

    package var replicaID: ReplicaID { id }

    package var store: StoreID { SimulatedReplica.store }

    package var vector: VersionVector { replica.state.vector }

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
    package func transact(_ statement: String) throws { try replica.transact(statement) }

    /// The rows of a query.
    package func query(_ sql: String) throws -> [[Value]] { try replica.query(sql) }

    /// The tables without what is private to the replica.
    package func canonical() throws -> [ObjectUID: [Field]] { try replica.canonical() }
}
