import SyncMerge
import SyncStorage
import SyncValues

/// The transactions of the rows that are older than history: nobody knows what wrote them, so that
/// they may be divided as it suits. Where that is possible each has at most
/// ``MergeEnvironment/olderRowsMax`` rows, and values of some ``bytesMax`` bytes: replicas send,
/// verify and merge whole transactions, so that memory, and the time that a merge keeps out
/// writers, depend on the largest.
///
/// Invariants
/// - All are as old as the store, and each has seen those before it.
/// - An older row is in the same transaction as the older rows that it refers to, or in a later
///   one: a replica that has merged some of these transactions shows all their rows.
///
/// Confined to its connection's queue and to one transaction.
final class OlderTransactions {
    /// Bytes of the values of one transaction: one row may have more. A batch has room for 64 times
    /// as many (``BatchLimits/contentBytesMax``).
    static let bytesMax = 4 << 20

    private struct Part {
        let header: TransactionHeader
        /// The inserts, as ``HeaderDetails`` has them, by entity; of a part that has ended, in
        /// ``details``.
        var changes: [Int: ListedChangeWriter] = [:]
        var count = 0
        var byteCount = 0
    }

    private let transaction: MergeTransaction
    private let rowsMax: Int
    /// The position of the first one in the merge order.
    private let position: Int64
    private var parts: [Part]
    /// By part, of those that have ended.
    private var details = ScratchStreams()

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
    /// - Throws: `diskFull`, `readOnly` for a temporary file.
    /// - Complexity: O(1)
    func divide() throws {
        let part = parts[parts.count - 1]
        if part.count >= rowsMax || part.byteCount >= Self.bytesMax { try begin() }
    }

    private func begin() throws {
        try end()
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
    /// - Parameter byteCount: of its values.
    func append(_ uid: ObjectUID, entity: Int, byteCount: Int) {
        let shape = transaction.storage.shapes.number(of: entity)
        parts[parts.count - 1].changes[entity, default: ListedChangeWriter()]
            .append(ListedChange(uid, shape: shape, kind: .insert, cells: []))
        parts[parts.count - 1].count += 1
        parts[parts.count - 1].byteCount += byteCount
    }

    /// Puts aside what the present one lists.
    private func end() throws {
        let part = parts[parts.count - 1]
        var changes = ByteWriter()
        for (_, list) in part.changes.sorted(by: { $0.key < $1.key }) {
            changes.append(raw: list.bytes)
        }
        parts[parts.count - 1].changes = [:]
        try HeaderDetails.encode(
            Batch.Transaction(part.header), changes: changes.bytes, count: part.count
        ).withUnsafeBytes { try details.append($0, to: parts.count - 1) }
    }

    /// Appends them to the merge order.
    /// - Throws: SQLite errors; `diskFull`, `readOnly` for a temporary file.
    /// - Complexity: O(rows)
    func store() throws {
        try end()
        for (place, part) in parts.enumerated() {
            try transaction.append(part.header, details: try details.bytes(of: place))
        }
    }
}
