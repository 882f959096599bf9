import SyncStorage

/// Moves transactions from the log into the history tables, in short write transactions.
///
/// Invariants:
/// - `syncd_meta.digested` only grows, and only together with the headers of the transactions up to
///   it.
/// - A transaction is part of history from the moment its header is written; its changes may have
///   been written in earlier slices, where no reader sees them.
/// - A log row is deleted only when it is at or before `digested`; the newest row always stays, so
///   that SQLite never gives a seq twice.
///
/// Writers are held up for the length of one slice. A slice writes at most ``sliceChangesMax``
/// changes (about 2 ms): more would make a writer with a short busy timeout fail, fewer would spend
/// the time on commits.
final class Digester {
    /// Changes written in one slice.
    static let sliceChangesMax = 500
    /// The same when more than ``backlogMax`` rows wait: about 20 ms. Beside writers that leave no
    /// gap the lock is rarely free, and small slices would never catch up.
    static let longSliceChangesMax = 5_000
    static let backlogMax: Int64 = 10_000
    /// Log rows deleted in one slice.
    static let sliceRowsMax = 10_000

    private let connection: OpaquePointer
    private let metadata: Metadata
    private let assembler: TransactionAssembler
    private let trimmable: Statement
    private let trim: Statement
    private let didCommit: () -> Void
    private let writer: HistoryWriter

    /// - Parameter didCommit: called after each commit of the digest.
    init(
        _ connection: OpaquePointer, catalog: EntityCatalog, metadata: Metadata,
        didCommit: @escaping () -> Void
    ) throws {
        self.connection = connection
        self.didCommit = didCommit
        self.metadata = metadata
        assembler = TransactionAssembler(try LogReader(connection, catalog: catalog))
        trimmable = try Statement(LogTable.trimmableSQL, on: connection)
        trim = try Statement(LogTable.trimSQL, on: connection)
        writer = try HistoryWriter(connection)
    }

    /// Whether the log has rows that history has as well.
    static func canTrim(on connection: OpaquePointer, digested: Int64) throws -> Bool {
        let statement = try Statement(LogTable.trimmableSQL, on: connection)
        statement.bind(digested, at: 1)
        return try statement.step()
    }

    /// Digests what `boundaries` enclose and trims the log.
    ///
    /// - Parameter isDue: asked after each slice; false ends the work early.
    /// - Returns: the seq up to which history is complete now.
    /// - Throws: `busy` when a writer holds the lock; what was done until then stays.
    func digest(
        _ boundaries: [Boundary], while isDue: () throws -> Bool
    ) throws -> Int64 {
        var digested = try metadata.position(.digested)
        while let end = boundaries.last?.last, digested < end, try isDue() {
            digested = try digestBatch(boundaries.filter { $0.last > digested }, after: digested)
        }
        while try hasRowsToTrim(upTo: digested), try isDue() { try trimSlice(upTo: digested) }
        return digested
    }

    /// Reads transactions until there are enough changes for a slice, then writes them.
    private func digestBatch(
        _ boundaries: [Boundary], after digested: Int64
    ) throws -> Int64 {
        var batch: [NetTransaction] = []
        var changes = 0
        // Commits that changed nothing in the end leave no transaction, but are done with as well.
        var end = boundaries[boundaries.count - 1].last
        let isBehind = end - digested > Self.backlogMax
        let changesMax = isBehind ? Self.longSliceChangesMax : Self.sliceChangesMax
        try RawTransaction.read(on: connection) {
            try assembler.forEach(after: digested, in: boundaries) { transaction in
                batch.append(transaction)
                changes += transaction.changes.count
                guard changes >= changesMax else { return true }
                end = transaction.number
                return false
            }
        }
        if let large = batch.last, large.changes.count > changesMax {
            try write(batch.dropLast(), digestedUpTo: large.first - 1)
            try writeInSlices(large)
        } else {
            try write(batch[...], digestedUpTo: end)
        }
        return end
    }

    private func write(
        _ transactions: ArraySlice<NetTransaction>, digestedUpTo end: Int64
    ) throws {
        try commit {
            // Another process may have digested meanwhile.
            guard try metadata.position(.digested) < end else { return }
            for transaction in transactions {
                for change in transaction.changes { try writer.write(change) }
                try writer.write(header: transaction)
            }
            try metadata.set(.digested, to: .integer(end))
        }
    }

    /// All slices but the last have changes only.
    private func writeInSlices(_ large: NetTransaction) throws {
        var rest = large.changes[...]
        while rest.count > Self.sliceChangesMax {
            try commit {
                for change in rest.prefix(Self.sliceChangesMax) { try writer.write(change) }
            }
            rest = rest.dropFirst(Self.sliceChangesMax)
        }
        try commit {
            for change in rest { try writer.write(change) }
            try writer.write(header: large)
            try metadata.set(.digested, to: .integer(large.number))
        }
    }

    private func hasRowsToTrim(upTo digested: Int64) throws -> Bool {
        trimmable.bind(digested, at: 1)
        defer { trimmable.reset() }
        return try trimmable.step()
    }

    private func trimSlice(upTo digested: Int64) throws {
        try commit {
            trim.bind(digested, at: 1)
            trim.bind(Int64(Self.sliceRowsMax), at: 2)
            try trim.run()
        }
    }

    private func commit(_ body: () throws -> Void) throws {
        try RawTransaction.write(on: connection, didCommit: didCommit, body)
    }
}
