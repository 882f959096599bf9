import SyncMerge
import SyncValues

/// Proofs for the batches that a store sends, and its own key pair.
///
/// Invariant: what this replica signs is a prefix of its chain; an anchor is stored in the same
/// transaction that notes its transactions as sent.
struct SignedSending {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var own: ReplicaID { transaction.identity.replica }
    private var store: StoreID { transaction.identity.store }

    /// Whether the store signs what it sends.
    /// - Throws: as every method here: SQLite errors, `corrupt`.
    func isOn() throws -> Bool { try transaction.settings.integer(.signing) != 0 }

    /// Signs from now on. Changes nothing in a store that signs already.
    /// - Returns: this replica as a signer.
    func turnOn() throws -> Signer {
        try transaction.settings.set(.signing, to: .integer(1))
        let signer = try ownSigner()
        try ReplicaNaming(transaction).ensureOwn(signing: signer.secret)
        return signer
    }

    /// Decides about a member; the decision is sent with the next batch.
    /// - Throws: `refused` in a store that does not sign.
    func decide(about subject: ReplicaID, _ kind: MemberDecision.Kind) throws {
        guard try isOn(), let key = try ownSigner().secret else {
            throw SyncError(
                .refused,
                "this store does not sign what it sends, and others accept only signed "
                    + "decisions about members", hint: "Sign first: synctool upgrade DB")
        }
        let revision = try storage.members.all().revision(after: subject)
        guard revision <= MemberDecision.revisionMax else {
            throw SyncError(.refused, "no other decision about this replica is possible")
        }
        try storage.members.write(
            MemberDecision(
                about: subject, kind, revision: revision, by: own, store: store, with: key))
    }

    /// This replica, with a key pair: a new one where the file became another replica.
    private func ownSigner() throws -> Signer {
        if let signer = try storage.signers.all()[own], signer.secret != nil { return signer }
        try retireFormer()
        let key = SigningKey.make()
        let first = try firstUnsigned()
        let start = Signer.start(own, first: first, store: store)
        var signer = Signer(
            replica: own, key: key.verifying, first: first, base: start, link: start, secret: key)
        // Headers that were collected before there was a key cannot be signed any more; a copy of
        // the file from before that has them.
        let collected = try transaction.settings.vector(.collected)[own]
        if collected > first {
            signer.base = try storage.link(of: signer, at: collected)
            signer.link = signer.base
        }
        try storage.signers.write(signer)
        return signer
    }

    /// The keys of former replicas, which came with a copied file, sign what the file has of them,
    /// and go: also what they had not sent yet, from where their next batches continue.
    /// - Throws: SQLite errors, `corrupt`.
    /// - Complexity: O(replicas), and O(transactions not sent) the first time
    func retireFormer() throws {
        for former in try storage.signers.all().values
        where former.secret != nil && former.replica != own {
            try retire(former, upTo: try storage.headers.vector()[former.replica])
        }
    }

    /// The newest own transaction that others may have without a signature.
    private func firstUnsigned() throws -> Int64 {
        let sent = try transaction.newestSent()
        let isNew = try sent == 0 && storage.peers.all().isEmpty
        let hasRenewed = try transaction.settings.value(.sent) == .integer(0)
        return isNew || hasRenewed ? 0 : try storage.headers.vector()[own]
    }

    /// Ends a replica that this file was: others can verify what the file has of it.
    /// - Parameter number: its newest transaction that keeps its name.
    func retire(_ former: Signer, upTo number: Int64) throws {
        guard let secret = former.secret else { return }
        guard number > 0 else { return try storage.signers.remove(former.replica) }
        var signer = former
        signer.secret = nil
        try storage.signers.dropAnchors(of: former.replica, after: max(number, former.first))
        if signer.base.number <= number {
            let link = try storage.link(of: signer, at: number)
            let anchor = try Anchor(link, store: store, replica: former.replica, with: secret)
            try storage.signers.keep(anchor, of: former.replica)
            signer.link = link
        } else {
            signer.link = nil
        }
        try storage.signers.write(signer)
    }

    /// Adds the proofs to batches that follow each other, of which the vectors alone are read.
    /// - Returns: the key to sign them with.
    /// - Complexity: O(transactions of the batches, and those from there to the next anchors)
    func prove(_ extraction: inout OutgoingExtraction) throws -> SigningKey? {
        guard try isOn() else { return nil }
        var me = try ownSigner()
        let others = try storage.signers.all().values.filter { $0.replica != own }
        let decisions = try storage.members.all().sorted.prefix(BatchLimits.decisionsMax)
        for index in extraction.frames.indices {
            var batch = extraction.frames[index].batch
            batch.decisions = Array(decisions)
            batch.proofs[own] = try ownProof(for: batch, of: &me)
            for signer in others {
                if let proof = try proof(for: batch, of: signer) {
                    batch.proofs[signer.replica] = proof
                }
            }
            extraction.frames[index].batch = batch
        }
        try addNames(to: &extraction, signing: me.secret)
        try storage.signers.write(me)
        return me.secret
    }

    /// A batch has the names of the replicas that it has proofs of: a receiver verifies them by
    /// their keys.
    private func addNames(
        to extraction: inout OutgoingExtraction, signing key: SigningKey?
    ) throws {
        guard !extraction.frames.isEmpty else { return }
        try ReplicaNaming(transaction).ensureOwn(signing: key)
        let names = try storage.replicaNames.all()
        for index in extraction.frames.indices {
            let replicas = extraction.frames[index].batch.proofs.keys
            extraction.frames[index].batch.replicaNames =
                names.filter { replicas.contains($0.key) }.compactMapValues(\.signed)
        }
    }

    private func ownProof(for batch: Batch, of me: inout Signer) throws -> SignerProof {
        guard let key = me.secret else {
            throw SyncError(.internalFault, "this replica has no key to sign with")
        }
        let start = try storage.link(of: me, at: max(batch.from[own], me.base.number))
        let end = try storage.link(of: me, at: max(batch.upTo[own], me.base.number), from: start)
        let anchor: Anchor
        if let known = try storage.signers.anchor(of: own, upTo: end.number),
            known.link.number == end.number
        {
            anchor = known
        } else {
            anchor = try Anchor(end, store: store, replica: own, with: key)
            try storage.signers.keep(anchor, of: own)
        }
        if me.link.map({ $0.number < end.number }) ?? true { me.link = end }
        return SignerProof(key: me.key, first: me.first, start: start, anchor: anchor)
    }

    /// Nil where the batch has nothing signed of the replica, or its chain is not known here.
    private func proof(for batch: Batch, of signer: Signer) throws -> SignerProof? {
        let replica = signer.replica
        let end = batch.upTo[replica]
        guard end > batch.from[replica], end > signer.first, let link = signer.link else {
            return nil
        }
        let start = try storage.link(of: signer, at: max(batch.from[replica], signer.base.number))
        if let anchor = try storage.signers.anchor(of: replica, from: end),
            anchor.link.number <= link.number
        {
            return SignerProof(
                key: signer.key, first: signer.first, start: start, anchor: anchor,
                headers: try storage.headers.headers(
                    of: replica, after: end, upTo: anchor.link.number))
        }
        guard let pending = signer.pending else { return nil }
        let stored = try storage.headers.headers(of: replica, after: end, upTo: link.number)
        return SignerProof(
            key: signer.key, first: signer.first, start: start, anchor: pending.anchor,
            headers: try stored
                + pending.headers(of: replica).filter { $0.dot.number > max(end, link.number) })
    }
}
