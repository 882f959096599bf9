import SyncMerge

/// The transactions of the rows that are older than history: nobody knows what wrote them, so that
/// they may be divided as it suits. Where that is possible each has at most
/// ``MergeEnvironment/olderRowsMax`` rows: replicas send, verify and merge whole transactions, so
/// that memory, and the time that a merge keeps out writers, depend on the largest.
///
/// Invariants
/// - All are as old as the store, and each has seen those before it.
/// - An older row is in the same transaction as the older rows that it refers to, or in a later
///   one: a replica that has merged some of these transactions shows all their rows.
///
/// Confined to its connection's queue and to one transaction.
final class OlderTransactions {
    private struct Part {
        let header: TransactionHeader
        /// The inserts, as ``HeaderDetails`` has them, by entity.
        var changes: [Int: ByteWriter] = [:]
        var count = 0
    }

    private let transaction: MergeTransaction
    private let rowsMax: Int
    /// The position of the first one in the merge order.
    private let position: Int64
    private var parts: [Part]

    /// - Parameters:
    ///   - first: the first one, which may stay without rows.
    ///   - position: its position in the merge order.
    init(_ first: TransactionHeader, at position: Int64, in transaction: MergeTransaction) {
        self.transaction = transaction
        self.position = position
        rowsMax = transaction.environment.olderRowsMax
        parts = [Part(header: first)]
    }

    /// The name of the present one.
    var dot: Dot { parts[parts.count - 1].header.dot }

    /// Its position in the merge order.
    var place: Int64 { position + Int64(parts.count - 1) }

    /// Begins the next one, if the present one is full: where the rows that come next refer to no
    /// row that comes after them.
    /// - Complexity: O(1)
    func divide() {
        if parts[parts.count - 1].count >= rowsMax { begin() }
    }

    private func begin() {
        let last = parts[parts.count - 1].header
        var seen = last.seen
        seen.advance(to: last.dot)
        let number = transaction.storage.history.allocate(1).upperBound
        parts.append(
            Part(
                header: TransactionHeader(
                    Dot(last.dot.replica, number), time: last.time, seen: seen)))
    }

    /// Notes the insert of a row in the present one.
    func append(_ uid: ObjectUID, entity: Int) {
        HeaderDetails.append(
            Batch.Change(uid, entity: entity, kind: .insert),
            shape: transaction.storage.shapes.number(of: entity),
            to: &parts[parts.count - 1].changes[entity, default: ByteWriter()])
        parts[parts.count - 1].count += 1
    }

    /// Appends them to the merge order.
    /// - Throws: SQLite errors.
    /// - Complexity: O(rows)
    func store() throws {
        for part in parts {
            var changes = ByteWriter()
            for (_, bytes) in part.changes.sorted(by: { $0.key < $1.key }) {
                changes.append(raw: bytes.bytes)
            }
            try transaction.append(
                part.header,
                details: HeaderDetails.encode(
                    Batch.Transaction(part.header), changes: changes.bytes, count: part.count))
        }
    }
}
