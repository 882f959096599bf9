import SyncValues

/// The end of the content of a signed batch: the proofs of the other replicas that it has
/// transactions of.
enum ProofColumns {
    static func write(_ batch: Batch, to content: inout ByteWriter) {
        let proofs = batch.forwardedProofs.sorted { $0.key < $1.key }
        content.append(varint: UInt64(proofs.count))
        for (replica, proof) in proofs {
            content.append(replica)
            proof.write(to: &content)
            ProofHeaders.write(proof.headers, after: batch.upTo[replica], to: &content)
        }
    }

    /// - Throws: `badData` for replicas that are not in order, or proofs that end before the batch.
    static func read(
        _ envelope: BatchEnvelope, from reader: inout ByteReader
    ) throws -> [ReplicaID: SignerProof] {
        var proofs: [ReplicaID: SignerProof] = [:]
        var last: ReplicaID?
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.envelopeBytesMax)) {
            let replica = try reader.identifier(ReplicaID.self)
            guard last.map({ $0 < replica }) ?? true, replica != envelope.sender else {
                throw SyncError(.badData, "the proofs of a batch are not in order")
            }
            let proof = try SignerProof.read(from: &reader)
            let headers = try ProofHeaders.read(
                of: replica, after: envelope.upTo[replica], from: &reader)
            guard proof.anchor.link.number >= headers.last?.dot.number ?? envelope.upTo[replica]
            else { throw SyncError(.badData, "a proof ends before the batch") }
            proofs[replica] = proof.with(headers: headers)
            last = replica
        }
        return proofs
    }
}

extension Batch {
    /// The proofs of other replicas than the sender, whose own proof is in the envelope.
    var forwardedProofs: [ReplicaID: SignerProof] { proofs.filter { $0.key != sender } }
}
