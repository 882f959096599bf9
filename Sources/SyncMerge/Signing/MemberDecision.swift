import SyncValues

/// What a member has decided about the membership of a store, signed by it.
///
/// Decisions are sent with every signed batch, so that all replicas agree. Of several about one
/// subject the one with the greatest revision is in force (``supersedes(_:)``): which it is follows
/// from the set of decisions, not from the order in which they arrive.
package struct MemberDecision: Sendable, Hashable {
    /// What was decided.
    package enum Kind: UInt8, Sendable {
        /// Batches that the replica sends are accepted.
        case admitted = 0
        /// Batches that the replica sends are refused.
        case removed = 1
        /// A replica has to be admitted; about ``MemberDecision/everyone``.
        case closed = 2
        /// Who may write to a remote may join; about ``MemberDecision/everyone``.
        case open = 3
    }

    /// The subject of decisions about the store: the identifier of no replica.
    package static let everyone: ReplicaID = {
        guard let none = ReplicaID(bytes: Array(repeating: 0, count: 16)) else {
            preconditionFailure("an identifier has 16 bytes")
        }
        return none
    }()
    /// The greatest revision: a decision that has it could never be superseded.
    package static let revisionMax = Int64(Int32.max)

    /// The replica that it is about.
    package let subject: ReplicaID
    /// What was decided.
    package let kind: Kind
    /// Greater than that of the decision that it supersedes; from 1.
    package let revision: Int64
    /// The replica that decided.
    package let decider: ReplicaID
    /// Its public key.
    package let key: VerifyingKey
    /// Its signature.
    package let signature: Signature

    /// A decision that was stored.
    package init(
        about subject: ReplicaID, _ kind: Kind, revision: Int64, by decider: ReplicaID,
        key: VerifyingKey, signature: Signature
    ) {
        self.subject = subject
        self.kind = kind
        self.revision = revision
        self.decider = decider
        self.key = key
        self.signature = signature
    }

    /// Decides.
    /// - Throws: `internalFault`.
    package init(
        about subject: ReplicaID, _ kind: Kind, revision: Int64, by decider: ReplicaID,
        store: StoreID, with key: SigningKey
    ) throws {
        let signed = Self.signed(
            store: store, subject: subject, kind: kind, revision: revision, decider: decider)
        self.init(
            about: subject, kind, revision: revision, by: decider, key: key.verifying,
            signature: try key.signature(of: signed, for: .member))
    }

    /// Whether the key in it has signed it, and its decider may decide it: nobody decides about
    /// itself.
    package func isValid(in store: StoreID) -> Bool {
        let isAboutStore = kind == .closed || kind == .open
        return decider != subject && isAboutStore == (subject == Self.everyone)
            && 1...Self.revisionMax ~= revision
            && key.isValid(
                signature,
                of: Self.signed(
                    store: store, subject: subject, kind: kind, revision: revision,
                    decider: decider), for: .member)
    }

    /// Whether it is in force where both are known. Of the same revision a removal is, then the one
    /// of the greater decider.
    package func supersedes(_ other: MemberDecision) -> Bool {
        if revision != other.revision { return revision > other.revision }
        if kind != other.kind { return rank > other.rank }
        if decider != other.decider { return other.decider < decider }
        return other.signature.bytes.lexicographicallyPrecedes(signature.bytes)
    }

    /// The safer decision is the greater one.
    private var rank: Int { kind == .removed || kind == .closed ? 1 : 0 }

    private static func signed(
        store: StoreID, subject: ReplicaID, kind: Kind, revision: Int64, decider: ReplicaID
    ) -> [UInt8] {
        let number = (0..<8).map { UInt8(truncatingIfNeeded: revision >> (56 - 8 * $0)) }
        return store.bytes + subject.bytes + [kind.rawValue] + number + decider.bytes
    }
}

extension ByteWriter {
    /// Writes a decision.
    package mutating func append(_ decision: MemberDecision) {
        append(decision.subject)
        append(byte: decision.kind.rawValue)
        append(varint: UInt64(decision.revision))
        append(decision.decider)
        append(raw: decision.key.bytes)
        append(raw: decision.signature.bytes)
    }
}
