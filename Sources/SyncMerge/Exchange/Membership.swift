import SyncValues

/// Whose batches the replicas of a store accept, as one of them knows it.
package struct Membership: Sendable, Hashable {
    /// A member that signs.
    package struct Signer: Sendable, Hashable {
        /// Its public key.
        package let key: VerifyingKey
        /// Its newest transaction that is not signed.
        package let first: Int64

        /// Describes a member.
        package init(key: VerifyingKey, first: Int64) {
            self.key = key
            self.first = first
        }
    }

    /// The replicas whose keys are known.
    package var signers: [ReplicaID: Signer]
    /// The replicas that were removed.
    package var removed: Set<ReplicaID>
    /// The replicas that were admitted, where membership is closed; nil: it is open.
    package var admitted: Set<ReplicaID>?

    /// The replicas that this one has admitted, and its own transaction that tells so last: until a
    /// remote has that, others may refuse what these have sent there.
    package var ownAdmissions: Set<ReplicaID> = []
    package var decided: Int64 = 0

    /// The membership as others know it that have not merged the decisions of this replica.
    package var beforeDecisions: Membership {
        var members = self
        members.removed.formUnion(ownAdmissions)
        return members
    }

    /// The membership of a store; without arguments that of one in which nobody signs.
    package init(
        signers: [ReplicaID: Signer] = [:], removed: Set<ReplicaID> = [],
        admitted: Set<ReplicaID>? = nil
    ) {
        self.signers = signers
        self.removed = removed
        self.admitted = admitted
    }

    /// Whether batches that a replica sends are merged.
    package func accepts(sender: ReplicaID) -> Bool {
        !removed.contains(sender) && admitted?.contains(sender) ?? true
    }

    /// Whether what a batch claims to have counts for what a remote has: what nobody merges is sent
    /// again. Where members sign, the claims of a replica that is not known do not count. The
    /// signature is not verified.
    package func accepts(_ envelope: BatchEnvelope) -> Bool {
        guard accepts(sender: envelope.sender) else { return false }
        guard let signer = signers[envelope.sender] else { return signers.isEmpty }
        if let signature = envelope.signature { return signature.proof.key == signer.key }
        return signer.first > 0 && envelope.upTo[envelope.sender] <= signer.first
    }

    /// Whether a batch is signed by a member whose key is known.
    /// - Complexity: O(replicas), and some 100 µs
    package func hasSigned(_ envelope: BatchEnvelope) -> Bool {
        guard accepts(sender: envelope.sender), let signature = envelope.signature,
            signature.proof.key == signers[envelope.sender]?.key
        else { return false }
        return (try? envelope.requireValidSignature()) != nil
    }
}
