import SyncStorage

/// Moves what is logged to the history tables in the one write transaction that the connection is
/// in: a merge begins with it. What is too large for memory is read and written slice by slice, as
/// the ``Digester`` does.
package struct LogDigest {
    private let assembler: TransactionAssembler
    /// Reads the large transactions, while the other one stands at their ends.
    private let reader: LogReader
    /// The changes that are written at once.
    private static let changesMax = 1000

    /// - Throws: `refused` when the log is missing.
    package init(_ connection: OpaquePointer, catalog: EntityCatalog) throws {
        try self.init(connection, catalog: catalog, limit: .memory)
    }

    init(_ connection: OpaquePointer, catalog: EntityCatalog, limit: AssemblyLimit) throws {
        assembler = TransactionAssembler(
            try LogReader(connection, catalog: catalog), limit: limit)
        reader = try LogReader(connection, catalog: catalog)
    }

    /// Writes the transactions after `seq`, with their headers.
    ///
    /// - Parameter boundaries: ascending; the last one is where reading ends.
    /// - Throws: `badData` for an entity that cannot be read; the error of SQLite.
    /// - Complexity: O(log rows); memory for some 20,000 changes, and 16 bytes for each row of the
    ///   largest transaction.
    package func write(
        after seq: Int64, in boundaries: [Boundary], to writer: HistoryWriter
    ) throws {
        var small: [NetTransaction] = []
        var changes = 0
        try assembler.forEach(after: seq, in: boundaries) { transaction in
            if transaction.unassembled == nil {
                if transaction.changes.isEmpty { return true }
                small.append(transaction)
                changes += transaction.changes.count
                guard changes >= Self.changesMax else { return true }
            }
            try writer.write(small)
            small = []
            changes = 0
            if transaction.unassembled != nil { try write(large: transaction, to: writer) }
            return true
        }
        try writer.write(small)
    }

    private func write(large transaction: NetTransaction, to writer: HistoryWriter) throws {
        var hasChanges = !transaction.changes.isEmpty
        try writer.write(transaction.changes)
        let large = LargeTransaction(transaction, from: reader)
        while let slice = try large.nextSlice() {
            try writer.write(slice)
            hasChanges = hasChanges || !slice.isEmpty
        }
        if hasChanges { try writer.write(headers: CollectionOfOne(transaction)) }
    }
}
