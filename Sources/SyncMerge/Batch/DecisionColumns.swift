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
