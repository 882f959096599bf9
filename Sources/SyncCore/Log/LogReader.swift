import SyncStorage
import SyncValues

/// Reads the log from left to right, within the transaction that the connection is in.
///
/// Every writer of the database can write the log: invalid rows are skipped, and missing parts of a
/// value list read as NULL.
package final class LogReader {
    private let statement: Statement
    private let catalog: EntityCatalog
    private var hasRow = false

    /// No store gets this far by writing: a million rows a second would take 146,000 years. Numbers
    /// can be added up without care below it.
    static let seqMax: Int64 = 1 << 62

    private static let firstValueColumn: Int32 = 4

    /// - Throws: `refused` when the log is missing.
    package init(_ connection: OpaquePointer, catalog: EntityCatalog) throws {
        statement = try Statement(LogTable.rowsSQL, on: connection)
        self.catalog = catalog
    }

    /// Checks the number of the newest row.
    /// - Throws: `corrupt` beyond ``seqMax``: SQLite gives random numbers to further rows then.
    package static func checked(newest seq: Int64) throws -> Int64 {
        guard seq <= seqMax else {
            throw SyncError(
                .corrupt, "the log has a row with the number \(seq): no more rows fit in after it",
                hint: Metadata.startOverHint)
        }
        return seq
    }

    /// Starts over, at the rows after `seq` up to `last`.
    func seek(after seq: Int64, upTo last: Int64) throws {
        statement.reset()
        statement.bind(seq, at: 1)
        statement.bind(last, at: 2)
        hasRow = try statement.step()
    }

    /// Releases the read lock that a half-read statement holds.
    package func finish() { statement.reset() }

    /// The next record, or nil at the end.
    /// - Throws: `badData` for an entity that cannot be read; the error of SQLite.
    package func next() throws -> LogRecord? {
        while hasRow {
            let op = statement.integer(1)
            guard op >= 0, let kind = LogKind(rawValue: op & 7), kind != .continued else {
                hasRow = try statement.step()
                continue
            }
            if kind == .marker, op == 0 {
                return try record(kind, entity: nil, count: CaptureLayout.valuesPerRow)
            }
            guard kind != .marker, let entity = try catalog.entity(op >> 3) else {
                hasRow = try statement.step()
                continue
            }
            return try record(kind, entity: entity, count: entity.layout.valueCount(kind))
        }
        return nil
    }

    private func record(
        _ kind: LogKind, entity: TrackedEntity?, count: Int
    ) throws -> LogRecord {
        let seq = statement.integer(0)
        let m = statement.integer(2)
        let time = statement.isNull(3) ? nil : statement.real(3)
        var values: [Value] = []
        values.reserveCapacity(count)
        var lastSeq = seq
        appendValues(&values, upTo: count)
        hasRow = try statement.step()
        while values.count < count, hasRow,
            statement.integer(1) == LogKind.continued.op(entity?.id ?? 0)
        {
            lastSeq = statement.integer(0)
            appendValues(&values, upTo: count)
            hasRow = try statement.step()
        }
        while values.count < count { values.append(.null) }
        return LogRecord(
            seq: seq, lastSeq: lastSeq, kind: kind, m: m, time: time, entity: entity,
            values: values)
    }

    private func appendValues(_ values: inout [Value], upTo count: Int) {
        let end = Int32(min(count - values.count, CaptureLayout.valuesPerRow))
        for index in 0..<max(0, end) {
            values.append(statement.value(Self.firstValueColumn + index))
        }
    }
}
