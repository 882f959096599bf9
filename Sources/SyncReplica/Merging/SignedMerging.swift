import SyncMerge
import SyncValues

/// Verifies who wrote the transactions of a batch that is to be merged.
///
/// Rules
/// - The key of a replica is the first one that was seen, in its own batch or a forwarded one.
/// - New transactions of a replica with a known key are merged only with a proof: its chain, from
///   what is merged here over the batch, arrives at an anchor that the replica has signed.
/// - A replica without a known key needs no proof: who may write to a remote may join.
/// - Batches that a removed replica sends are refused, and where membership is closed those of one
///   that was not admitted. Its transactions are merged where a member forwards them.
/// - Nobody sends unsigned batches in the name of a replica that signs.
struct SignedMerging {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    private let batch: Batch
    private let merged: VersionVector
    private let headers: [ReplicaID: [TransactionHeader]]

    init(_ batch: Batch, merged: VersionVector, in transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
        self.batch = batch
        self.merged = merged
        headers = Dictionary(grouping: batch.transactions.map(\.header)) { $0.dot.replica }
    }

    private var own: ReplicaID { transaction.identity.replica }

    /// Verifies the batch; ``Outcome/store(in:)`` is called when it is merged.
    /// - Parameter proved: the links after the slice before of the same batch, whose proofs reach
    ///   beyond this one.
    /// - Throws: `notSigned`, `forked`, `notMember`, `badData`; SQLite errors.
    /// - Complexity: O(transactions of the batch, and of its proofs)
    func verify(after proved: [ReplicaID: ChainLink]) throws -> Outcome {
        let signers = try knownSigners()
        try requireMember(signers)
        var outcome = Outcome(decisions: batch.decisions)
        outcome.keys = signers.mapValues(\.key)
        let replicas = Set(batch.upTo.entries.map(\.replica)).union(batch.proofs.keys)
        for replica in replicas.sorted() where replica != own {
            let (signer, proof) = (signers[replica], batch.proofs[replica])
            if let signer, let proof {
                guard signer.key == proof.key, signer.first == proof.first else {
                    throw SignatureFault.otherKey(of: replica, sender: batch.sender)
                }
            }
            let isNew = batch.upTo[replica] > max(merged[replica], signer?.first ?? 0)
            if let signer {
                if isNew {
                    guard let proof else {
                        throw SignatureFault.notSigned(replica, sender: batch.sender)
                    }
                    outcome.changed.append(
                        try continued(signer, with: proof, proved: proved[replica]))
                } else if let proof {
                    try requireSame(signer, as: proof)
                }
            } else if let proof {
                outcome.changed.append(try pinned(replica, with: proof))
                outcome.keys[replica] = proof.key
            }
        }
        return outcome
    }

    /// The signers; of a file that was copied, the replica that it was is one of them.
    private func knownSigners() throws -> [ReplicaID: Signer] {
        let signers = try storage.signers.all()
        let isCopy = signers.values.contains { $0.secret != nil && $0.replica != own }
        guard isCopy else { return signers }
        try SignedSending(transaction).retireFormer()
        return try storage.signers.all()
    }

    /// Checks that the sender is a member, and that its name is its own.
    private func requireMember(_ signers: [ReplicaID: Signer]) throws {
        let members = try storage.members.all()
        let sender = batch.sender
        if members.isRemoved(sender) || signers[sender]?.isRemoved == true {
            throw SignatureFault.notMember(sender)
        }
        guard members.accepts(sender) else {
            throw SignatureFault.notAdmitted(sender, key: batch.proofs[sender]?.key)
        }
        guard let signer = signers[sender], batch.proofs[sender] == nil else { return }
        // What it sent before it signed may still lie in a folder, or arrive late. One that had
        // written nothing then cannot be told from one that has always signed, as all do in a store
        // that began so. A snapshot with gaps says what is gone: that has to be proved.
        let beganUnsigned =
            signer.first > 0
            || !members.isClosed && signers.values.contains { $0.first > 0 }
        guard beganUnsigned, !batch.hasGaps, batch.upTo[sender] <= signer.first,
            batch.schemas.isEmpty, !hasStranger(among: members, knowing: signers)
        else { throw SignatureFault.notSigned(sender, sender: sender) }
    }

    /// Where membership is closed: whether the batch has new transactions of a replica that no
    /// member has admitted. Anybody may have made a batch that nobody has signed.
    private func hasStranger(
        among members: MemberDecisions, knowing signers: [ReplicaID: Signer]
    ) -> Bool {
        members.isClosed
            && batch.upTo.entries.contains { entry in
                let replica = entry.replica
                return entry.number > merged[replica] && replica != batch.sender
                    && signers[replica] == nil && !members.accepts(replica)
                    && !members.isRemoved(replica)
            }
    }

    /// What a batch changes of a signer.
    struct Change {
        let signer: Signer
        /// The anchor at the batch's end.
        let anchor: Anchor?
        /// Whether the link alone moves: in a slice that is not the last one.
        let isWithin: Bool

        init(_ signer: Signer, anchor: Anchor? = nil, isWithin: Bool = false) {
            self.signer = signer
            self.anchor = anchor
            self.isWithin = isWithin
        }
    }

    /// What is stored when the batch is merged.
    struct Outcome {
        fileprivate(set) var changed: [Change] = []
        fileprivate var decisions: [MemberDecision]
        fileprivate var keys: [ReplicaID: VerifyingKey] = [:]

        fileprivate init(decisions: [MemberDecision]) { self.decisions = decisions }

        /// The links after the batch.
        var links: [ReplicaID: ChainLink] {
            var links: [ReplicaID: ChainLink] = [:]
            for change in changed { links[change.signer.replica] = change.signer.link }
            return links
        }

        /// - Throws: SQLite errors.
        func store(in all: ReplicaStorage) throws {
            let storage = all.signers
            try all.members.merge(decisions, keys: keys)
            for change in changed {
                let signer = change.signer
                if change.isWithin, let link = signer.link {
                    try storage.advance(signer.replica, to: link)
                    continue
                }
                if let anchor = change.anchor { try storage.keep(anchor, of: signer.replica) }
                try storage.write(signer)
            }
        }
    }

    // MARK: Rules

    /// A known signer with new transactions.
    private func continued(
        _ signer: Signer, with proof: SignerProof, proved: ChainLink?
    ) throws -> Change {
        var signer = signer
        let all = headers[signer.replica] ?? []
        var start = signer.link ?? proof.start
        // In a snapshot with gaps the headers are whole above this link alone.
        if batch.hasGaps, start.number < proof.start.number { start = proof.start }
        if signer.link == nil || batch.hasGaps, start == proof.start {
            // What is before the base was not proved when the key was seen for the first time, and
            // comes in several slices, too.
            let unproved = start == signer.base ? start.number : signer.first
            guard batch.hasGaps || start.number <= max(merged[signer.replica], unproved) else {
                throw SignatureFault.notSigned(signer.replica, sender: batch.sender)
            }
            // Without a jump the headers before it are here.
            if batch.hasGaps, signer.link != start { signer.base = start }
        }
        let end = start.following(all)
        if proved == nil || proved != signer.link {
            guard end.following(proof.headers) == proof.anchor.link,
                isSigned(proof, of: signer.replica)
            else {
                throw isWhole(proof, of: signer.replica)
                    ? SignatureFault.forked(signer.replica, sender: batch.sender)
                    : SignatureFault.broken(signer.replica, sender: batch.sender)
            }
        }
        return state(of: signer, at: end, with: proof)
    }

    /// A replica whose key was not known.
    private func pinned(
        _ replica: ReplicaID, with proof: SignerProof
    ) throws -> Change {
        guard isWhole(proof, of: replica) else {
            throw SignatureFault.broken(replica, sender: batch.sender)
        }
        var signer = Signer(
            replica: replica, key: proof.key, first: proof.first,
            base: try base(of: replica, with: proof), link: nil)
        let end = proof.start.following(headers[replica] ?? [])
        let isHere = max(merged[replica], proof.first) >= proof.start.number || batch.hasGaps
        // What is merged beyond the batch was merged before the key was known.
        guard isHere, merged[replica] <= max(end.number, proof.first) else { return Change(signer) }
        let collected = try transaction.settings.vector(.collected)[replica]
        if collected > proof.start.number { signer.base = end }
        return state(of: signer, at: end, with: proof)
    }

    /// From where others can be shown the chain of a replica whose key was not known. A file that
    /// was copied before its first statement has stated the transactions of before itself:
    /// - They lead to the proof: the chain is whole from its beginning.
    /// - They are not what the batch proves, of which some may have been collected there: it is
    ///   whole after them.
    private func base(of replica: ReplicaID, with proof: SignerProof) throws -> ChainLink {
        let here = merged[replica]
        guard here >= proof.start.number else { return proof.start }
        let proved = proof.start.following(
            (headers[replica] ?? []).filter { $0.dot.number <= here })
        let stored = proof.start.following(
            try storage.headers.headers(
                of: replica, after: proof.start.number, upTo: proved.number))
        guard stored == proved else { return proved }
        let beginning = Signer.start(replica, first: proof.first, store: batch.store)
        let former = try storage.headers.headers(
            of: replica, after: beginning.number, upTo: proof.start.number)
        return beginning.following(former) == proof.start ? beginning : proof.start
    }

    private func state(
        of signer: Signer, at end: ChainLink, with proof: SignerProof
    ) -> Change {
        var signer = signer
        signer.link = end
        guard proof.anchor.link.number > end.number else {
            signer.pending = nil
            return Change(signer, anchor: proof.anchor)
        }
        if signer.pending?.anchor == proof.anchor, !batch.hasGaps {
            return Change(signer, isWithin: true)
        }
        let rest = proof.headers.filter { $0.dot.number > end.number }
        signer.pending = PendingProof(anchor: proof.anchor, headers: rest)
        return Change(signer)
    }

    /// A known signer without new transactions: what the batch has of it must be what is here.
    private func requireSame(_ signer: Signer, as proof: SignerProof) throws {
        let replica = signer.replica
        for header in headers[replica] ?? [] where header.dot.number > signer.first {
            guard let stored = try storage.headers.header(header.dot),
                stored.time != header.time
            else { continue }
            throw isWhole(proof, of: replica)
                ? SignatureFault.forked(replica, sender: batch.sender)
                : SignatureFault.broken(replica, sender: batch.sender)
        }
    }

    // MARK: Proofs

    private func isSigned(_ proof: SignerProof, of replica: ReplicaID) -> Bool {
        proof.anchor.isSigned(store: batch.store, replica: replica, by: proof.key)
    }

    /// Whether the batch itself proves that the replica with the key in it wrote its transactions.
    func isWhole(_ proof: SignerProof, of replica: ReplicaID) -> Bool {
        let rest = (headers[replica] ?? []) + proof.headers
        return proof.start.following(rest) == proof.anchor.link && isSigned(proof, of: replica)
    }
}
