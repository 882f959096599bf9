import SyncMerge
import SyncStorage
import SyncValues

/// The changes of each transaction of a recording as its header lists them (``HeaderDetails``), put
/// aside until the headers are appended: a transaction may be in several windows of the log.
struct ChangeLists {
    private let shapes: Shapes
    private var details = ScratchStreams()
    /// The changes of a transaction that has not ended.
    private var changes = ListedChangeWriter()

    init(_ shapes: Shapes) { self.shapes = shapes }

    /// Adds a change to the transaction that has not ended.
    mutating func append(_ change: LoggedWrites.Change, of uid: ObjectUID, entity: Int) {
        changes.append(
            ListedChange(
                uid, shape: shapes.number(of: entity), kind: change.kind,
                cells: change.cells.positions))
    }

    /// Ends a transaction.
    /// - Parameter place: its position in the recording.
    /// - Throws: `diskFull`, `readOnly` for a temporary file.
    mutating func end(_ transaction: Batch.Transaction, at place: Int) throws {
        try HeaderDetails.encode(transaction, changes: changes.bytes, count: changes.count)
            .withUnsafeBytes { try details.append($0, to: place) }
        changes.removeAll()
    }

    /// Appends the headers of all transactions to the merge order.
    /// - Throws: SQLite errors; as ``end(_:at:)``.
    func store(_ headers: some Collection<TransactionHeader>, in transaction: MergeTransaction)
        throws
    {
        for (place, header) in headers.enumerated() {
            try transaction.append(header, details: try details.bytes(of: place))
        }
    }
}
