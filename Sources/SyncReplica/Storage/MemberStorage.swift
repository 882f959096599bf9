import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_member`: the decision about each member that is in force, no matter who made it.
///
/// Invariant: of two replicas that have seen the same decisions, both have the same ones here.
///
/// Statements are prepared when they are used. Confined to its connection's queue.
struct MemberStorage {
    private let connection: OpaquePointer
    private let store: StoreID

    init(_ connection: OpaquePointer, store: StoreID) {
        self.connection = connection
        self.store = store
    }

    /// The decisions in force.
    /// - Throws: SQLite errors; `corrupt` for rows that cannot be read.
    /// - Complexity: O(decisions)
    func all() throws -> MemberDecisions {
        let select = try Statement(
            "SELECT decision FROM syncd_member ORDER BY subject", on: connection)
        var decisions = MemberDecisions()
        while try select.step() {
            var reader = ByteReader(select.blob(0) ?? [])
            guard let decision = try? reader.decision() else {
                throw SyncError(.corrupt, "the table syncd_member has a row that is no decision")
            }
            decisions.bySubject[decision.subject] = decision
        }
        return decisions
    }

    /// Stores decisions that supersede those that are here.
    /// - Parameter keys: the known keys: what others have signed in a member's name is ignored, and
    ///   what an unknown replica has signed waits until a batch brings it again.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(decisions), and some 100 µs for each new one
    func merge(
        _ arriving: [MemberDecision], keys: [ReplicaID: VerifyingKey]
    ) throws {
        guard !arriving.isEmpty else { return }
        let present = try all()
        for decision in arriving where keys[decision.decider] == decision.key {
            let known = present.bySubject[decision.subject]
            guard known.map(decision.supersedes) ?? true,
                known != nil || present.bySubject.count < BatchLimits.decisionsMax,
                decision.revision <= (known?.revision ?? 0) + Self.revisionStepMax,
                decision.isValid(in: store)
            else { continue }
            try write(decision)
        }
    }

    /// People decide by hand: a greater step could leave no revision for the next decision.
    private static let revisionStepMax: Int64 = 1_000_000

    /// Stores a decision of this replica.
    /// - Throws: SQLite errors.
    func write(_ decision: MemberDecision) throws {
        var writer = ByteWriter()
        writer.append(decision)
        try Statement("INSERT OR REPLACE INTO syncd_member VALUES (?1, ?2)", on: connection)
            .run(.blob(decision.subject.bytes), .blob(writer.bytes))
    }
}

/// The decisions about members that are in force.
struct MemberDecisions {
    /// By the replica that they are about.
    var bySubject: [ReplicaID: MemberDecision] = [:]

    /// In the order in which batches have them.
    var sorted: [MemberDecision] { bySubject.values.sorted { $0.subject < $1.subject } }

    /// Whether batches that a replica sends are refused because it was removed.
    func isRemoved(_ replica: ReplicaID) -> Bool { bySubject[replica]?.kind == .removed }

    /// Whether a replica has to be admitted before what it sends is merged.
    var isClosed: Bool { bySubject[MemberDecision.everyone]?.kind == .closed }

    /// Whether batches that a replica sends are merged.
    func accepts(_ replica: ReplicaID) -> Bool {
        switch bySubject[replica]?.kind {
        case .removed: false
        case .admitted: true
        default: !isClosed || bySubject[MemberDecision.everyone]?.decider == replica
        }
    }

    /// The revision of the next decision about a replica.
    func revision(after subject: ReplicaID) -> Int64 { (bySubject[subject]?.revision ?? 0) + 1 }
}
