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
    /// Whether its batches are refused here.
    public let isRemoved: Bool
}

extension StoreReplica {
    /// The replicas whose keys are known here; none before the store has exchanged anything.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(replicas)
    public func members() throws -> [Member] {
        try run("members") { session in
            // Asking makes no tables of merging: without them the store may still join another one.
            let isMerging = try RawTransaction.read(on: session.connection) {
                try ReplicationTables.exist(session.connection)
            }
            guard isMerging else { return [] }
            return try session.transact { transaction in
                let vector = try transaction.storage.headers.vector()
                return try transaction.storage.signers.all().values.map { signer in
                    Member(
                        replica: signer.replica, fingerprint: signer.key.description,
                        signsAfter: signer.first, number: vector[signer.replica],
                        isOwn: signer.replica == session.identity.replica,
                        isRemoved: signer.isRemoved)
                }.sorted { $0.replica < $1.replica }
            }
        }
    }

    /// Decides whether batches that a replica sends are merged here. What is merged stays, and so
    /// do its transactions that others forward.
    /// - Throws: ``SyncError``: `refused` for a replica whose key is not known here, and for this
    ///   one; `busy`, and SQLite errors.
    public func setMember(_ replica: ReplicaID, isRemoved: Bool) throws {
        try run("members") { session in
            try session.transact { transaction in
                guard replica != session.identity.replica else {
                    throw SyncError(.refused, "this replica cannot remove itself")
                }
                guard var signer = try transaction.storage.signers.all()[replica] else {
                    throw SyncError(
                        .refused, "no key of replica \(replica) is known here",
                        hint: "The known ones are listed by: synctool remote members DB")
                }
                signer.isRemoved = isRemoved
                try transaction.storage.signers.write(signer)
            }
        }
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
                        && OwnTransactions(transaction).newestSent() == 0
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
