import SyncCore
import SyncStorage

/// Local history as a merge writes it: what was logged is moved to the history tables in the
/// merge's own transaction, then the merged transactions get the numbers after it.
///
/// Invariant: when the transaction is committed, history is complete up to the newest log row, and
/// the next number is greater than that row.
final class LocalHistory {
    let catalog: EntityCatalog
    let settings: Metadata
    private let connection: OpaquePointer
    private let log: LogDigest
    private let newest: Statement
    private let keepNumber: Statement
    private let writer: HistoryWriter
    private var last: Int64 = 0

    init(_ connection: OpaquePointer) throws {
        self.connection = connection
        catalog = try EntityCatalog(connection)
        settings = Metadata(connection)
        log = try LogDigest(connection, catalog: catalog)
        newest = try Statement(LogTable.newestSQL, on: connection)
        keepNumber = try Statement(LogTable.keepNumberSQL, on: connection)
        writer = try HistoryWriter(connection)
    }

    /// Moves what is logged to the history tables, in the transaction that the connection is in.
    /// What lies after the last boundary was logged by this transaction, and becomes a transaction
    /// of history: the boundaries are those of commits.
    /// - Throws: SQLite errors; `corrupt` for a log that is not well-formed.
    /// - Complexity: O(log rows)
    func digest(_ boundaries: [Boundary]) throws {
        try catalog.reload()
        let digested = try settings.position(.digested)
        defer { newest.reset() }
        last = max(
            digested, try LogReader.checked(newest: newest.step() ? newest.integer(0) : 0))
        var ends = boundaries.filter { $0.last > digested }
        // What a digest that was interrupted left behind may be put together differently now.
        try Statement(ChangeTable.deleteAfterSQL, on: connection).run(.integer(digested))
        if last > ends.last?.last ?? digested { ends.append(Boundary(last: last, isExact: true)) }
        try LogContinuity(settings).requireAll(after: digested, upTo: last)
        try log.write(after: digested, in: ends, to: writer)
        if last > digested { try LogContinuity(settings).setDigested(last) }
    }

    /// The number of the newest transaction.
    var head: Int64 { last }

    /// The next `count` numbers; at least one.
    func allocate(_ count: Int) -> ClosedRange<Int64> {
        let first = last + 1
        last += Int64(max(1, count))
        return first...last
    }

    /// Takes back the numbers after one: nothing that is kept was written with them.
    func release(after number: Int64) { last = number }

    /// Writes transactions; their changes have numbers from ``allocate(_:)``.
    /// - Throws: SQLite errors.
    func write(_ transactions: [NetTransaction]) throws { try writer.write(transactions) }

    /// Writes transactions with the changes that `add` adds to the rows of history, without an
    /// object for each.
    /// - Throws: SQLite errors; what `add` throws.
    func write(
        _ transactions: [NetTransaction], adding add: (_ rows: HistoryWriter) throws -> Void
    ) throws {
        try writer.write(transactions, adding: add)
    }

    /// Stores the last number, so that it is not allocated again.
    /// - Throws: SQLite errors.
    func finish() throws {
        guard try settings.position(.digested) < last else { return }
        try keepNumber.run(.integer(last))
        try LogContinuity(settings).setDigested(last)
    }
}
