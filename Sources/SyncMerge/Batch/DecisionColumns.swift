import SyncValues

/// The last part of the content of a signed batch: the decisions about members.
enum DecisionColumns {
    static func write(_ decisions: [MemberDecision], to content: inout ByteWriter) {
        content.append(varint: UInt64(decisions.count))
        for decision in decisions { content.append(decision) }
    }

    /// - Throws: `badData` for subjects that are not in order; as ``ByteReader/decision()``.
    static func read(from reader: inout ByteReader) throws -> [MemberDecision] {
        var decisions: [MemberDecision] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.decisionsMax)) {
            let decision = try reader.decision()
            guard decisions.last.map({ $0.subject < decision.subject }) ?? true else {
                throw SyncError(.badData, "the decisions of a batch are not in order")
            }
            decisions.append(decision)
        }
        return decisions
    }
}

extension ByteReader {
    /// Reads a decision. Its signature is not verified.
    /// - Throws: `badData` when the bytes end too soon, and for an unknown kind.
    package mutating func decision() throws -> MemberDecision {
        let subject = try identifier(ReplicaID.self)
        guard let kind = MemberDecision.Kind(rawValue: try byte()) else {
            throw SyncError(
                .newerFormat, "the batch has a decision about members of an unknown kind",
                hint: "Update syncd on this machine")
        }
        return MemberDecision(
            about: subject, kind, revision: try transactionNumber(),
            by: try identifier(ReplicaID.self), key: try verifyingKey(),
            signature: try signature())
    }
}
