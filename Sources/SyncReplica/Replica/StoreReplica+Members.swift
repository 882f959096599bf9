import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// A replica of the store whose key is known here.
public struct Member: Sendable, Hashable {
    /// The replica.
    public let replica: ReplicaID
    /// The first 8 hexadecimal digits of the key's SHA-256, for people who compare keys.
    public let fingerprint: String
    /// Its transactions after this number are signed.
    public let signsAfter: Int64
    /// Its newest transaction that is merged here.
    public let number: Int64
    /// Whether it is this replica.
    public let isOwn: Bool
    /// Whether a member has removed it: its batches are refused.
    public let isRemoved: Bool
    /// Whether its batches are refused, because membership is closed or it was removed.
    public let isWaiting: Bool
}

extension StoreReplica {
    /// The replicas whose keys are known here; none before the store has exchanged anything.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(replicas)
    public func members() throws -> [Member] {
        try run("members") { session in
            guard try session.isMerging() else { return [] }
            return try session.transact { transaction in
                let vector = try transaction.storage.headers.vector()
                let decisions = try transaction.storage.members.all()
                return try transaction.storage.signers.all().values.map { signer in
                    Member(
                        replica: signer.replica, fingerprint: signer.key.description,
                        signsAfter: signer.first, number: vector[signer.replica],
                        isOwn: signer.replica == session.identity.replica,
                        isRemoved: signer.isRemoved || decisions.isRemoved(signer.replica),
                        isWaiting: !decisions.accepts(signer.replica))
                }.sorted { $0.replica < $1.replica }
            }
        }
    }

    /// Decides whether batches that a replica sends are merged, here and on all other replicas:
    /// the decision is signed, and sent with the next push. What is merged stays, and so do its
    /// transactions that others forward.
    /// - Throws: ``SyncError``: `refused` for this replica, and in a store that does not sign;
    ///   `busy`, and SQLite errors.
    public func setMember(_ replica: ReplicaID, isRemoved: Bool) throws {
        try decide { signing, storage in
            guard replica != self.replicaID else {
                throw SyncError(
                    .refused, "a replica cannot decide about itself",
                    hint: "Run it on another replica of the store")
            }
            if !isRemoved, var signer = try storage.signers.all()[replica], signer.isRemoved {
                signer.isRemoved = false
                try storage.signers.write(signer)
            }
            try signing.decide(about: replica, isRemoved ? .removed : .admitted)
        }
    }

    /// Decides whether new replicas have to be admitted before what they send is merged, on all
    /// replicas. Closing admits those whose keys are known here.
    /// - Throws: as ``setMember(_:isRemoved:)``.
    public func setMembership(isClosed: Bool) throws {
        try decide { signing, storage in
            let members = try storage.members.all()
            if isClosed {
                for replica in try storage.signers.all().keys.sorted()
                where replica != self.replicaID && members.bySubject[replica] == nil {
                    try signing.decide(about: replica, .admitted)
                }
            }
            try signing.decide(about: MemberDecision.everyone, isClosed ? .closed : .open)
        }
    }

    /// Whether new replicas have to be admitted.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    public func isMembershipClosed() throws -> Bool {
        try withMembers { try $0.members.all().isClosed } ?? false
    }

    private func decide(
        _ body: (SignedSending, ReplicaStorage) throws -> Void
    ) throws {
        try run("members") { session in
            try session.transact { transaction in
                try body(SignedSending(transaction), transaction.storage)
                // An empty transaction: without one there would be nothing to send.
                try AuthoredRecording(transaction, author: nil, context: "members")
                    .record(about: []) { _, _ in }
                let newest = try transaction.storage.headers.vector()[replicaID]
                try transaction.settings.set(.decided, to: .integer(newest))
                try SnapshotDoubts.settle(in: transaction)
            }
        }
    }

    private func withMembers<Result>(
        _ body: (ReplicaStorage) throws -> Result
    ) throws -> Result? {
        try run("members") { session in
            try session.isMerging() ? try session.transact { try body($0.storage) } : nil
        }
    }

    /// Whose batches are accepted.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var membership: Membership {
        get throws {
            try withMembers { storage in
                let members = try storage.members.all()
                let signers = try storage.signers.all()
                let known = Set(signers.keys).union(members.bySubject.keys).union([replicaID])
                let admitted = known.filter { members.accepts($0) || $0 == replicaID }
                var membership = Membership(
                    signers: signers.mapValues { Membership.Signer(key: $0.key, first: $0.first) },
                    removed: known.filter { members.isRemoved($0) && $0 != replicaID },
                    admitted: members.isClosed ? admitted : nil)
                membership.decided = try storage.history.settings.integer(.decided)
                membership.ownAdmissions = Set(
                    members.bySubject.values.filter {
                        $0.kind == .admitted && $0.decider == replicaID
                    }.map(\.subject))
                return membership
            } ?? Membership()
        }
    }

    /// Checks that others accept what this replica sends.
    /// - Throws: ``SyncError``: `notMember` when another member has removed it; SQLite errors.
    package func requireMembership() throws {
        try withMembers { storage in
            let members = try storage.members.all()
            guard members.isRemoved(replicaID), var fault = members.exclusion(of: replicaID) else {
                return
            }
            fault.reason += ". Nothing was sent"
            throw fault
        }
    }

    /// Why others do not merge what this replica sends, as far as it has merged their decisions: it
    /// was removed, or membership is closed and no member has admitted it; nil: they merge it.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var exclusion: SyncError? {
        get throws {
            try withMembers { try $0.members.all().exclusion(of: replicaID) } ?? nil
        }
    }

    /// The same of a file, without opening it for writing.
    /// - Throws: as ``Store/open(_:)``, and SQLite errors.
    package static func exclusion(_ path: String) throws -> SyncError? {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.explaining("doctor") { try store.exclusion }
    }

    /// Signs what is sent from now on, with a key pair that is made for it. Changes nothing in a
    /// store that signs already.
    /// - Returns: this replica as a member, and whether it is new.
    /// - Throws: ``SyncError``: `cannotTrack` when its schema cannot be merged; `busy`, and SQLite
    ///   errors.
    @discardableResult
    public func startSigning() throws -> (member: Member, isNew: Bool) {
        let isNew = try run("upgrade") { session in
            try session.transact { transaction in
                let signing = SignedSending(transaction)
                let wasOn = try signing.isOn()
                _ = try signing.turnOn()
                return !wasOn
            }
        }
        guard let own = try members().first(where: \.isOwn) else {
            throw SyncError(.internalFault, "this replica has no key")
        }
        return (own, isNew)
    }

    /// Whether the tables of merging were made: a remote was added, something was sent or merged.
    /// - Throws: ``SyncError``: `busy`, `storeDamaged`, and SQLite errors.
    package var isMerging: Bool { get throws { try run("check") { try $0.isMerging() } } }

    /// Whether no other replica has, or can have, a transaction of this store.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package var hasSentNothing: Bool {
        get throws {
            try run("remote") { session in
                try session.transact { transaction in
                    let storage = transaction.storage
                    let own = session.identity.replica
                    let isAlone = try storage.headers.vector().entries
                        .allSatisfy { $0.replica == own }
                    return try isAlone && storage.peers.all().isEmpty
                        && transaction.newestSent() == 0
                }
            }
        }
    }

    /// Whether this store signs what it sends.
    /// - Throws: ``SyncError``: SQLite errors.
    package var isSigning: Bool {
        get throws {
            try run("push") { try Metadata($0.connection).integer(.signing) != 0 }
        }
    }
}
