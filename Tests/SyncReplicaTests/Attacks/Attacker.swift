@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Who may write to a remote, and has a key pair of their own, as any member has.
struct Attacker {
    let replica = ReplicaID.random()
    let key = SigningKey.make()

    /// All that a file has, in one batch, changed and signed with the attacker's key.
    /// - Parameter change: what is changed of it.
    func batch(
        of file: RestoredFile, _ change: (inout Batch) throws -> Void
    ) async throws -> [UInt8] {
        let bytes = try await file.withReplica { try $0.batches(since: VersionVector()) }
        guard let first = bytes.first else {
            throw SyncError(.internalFault, "the store has nothing to send")
        }
        var batch = try BatchDecoder.decode(first)
        batch.extras.schema = []
        batch.sums = nil
        batch.proofs[batch.sender] = nil
        batch.proofs = [:]
        batch.sender = replica
        try change(&batch)
        try sign(&batch)
        return try BatchEncoder.encode(batch, signing: key)
    }

    /// Adds the attacker's own proof: of its transactions in the batch.
    func sign(_ batch: inout Batch) throws {
        let start = ChainLink(store: batch.store, replica: replica, first: 0)
        let own = batch.transactions.map(\.header).filter { $0.dot.replica == replica }
        batch.proofs[replica] = SignerProof(
            key: key.verifying, first: 0, start: start,
            anchor: try Anchor(
                start.following(own), store: batch.store, replica: replica, with: key))
    }

    /// A transaction of the attacker that has seen everything up to a vector.
    func transaction(
        _ number: Int64 = 1, seen: VersionVector,
        at time: HybridTime = HybridTime(milliseconds: 1_900_000_000_000)
    ) -> Batch.Transaction {
        var seen = seen
        if number > 1 { seen.advance(to: Dot(replica, number - 1)) }
        return Batch.Transaction(
            TransactionHeader(Dot(replica, number), time: time, seen: seen))
    }

    /// A snapshot that claims that everything was collected, and has nothing in it.
    func emptySnapshot(of file: RestoredFile) async throws -> [UInt8] {
        try await batch(of: file) { batch in
            let own = transaction(seen: VersionVector())
            batch.upTo.advance(to: own.header.dot)
            batch.collected = batch.upTo
            batch.hasGaps = true
            batch.transactions = [own]
            batch.facts = []
            batch.extras.numbers = [:]
        }
    }
}
