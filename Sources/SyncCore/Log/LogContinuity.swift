import SyncStorage
import SyncValues

/// Whether the log is the one whose rows were digested, and has all rows since.
///
/// Triggers give each row the next number, only what is digested is deleted, and the newest row
/// always stays. So every number after `digested` is there; and when the row `digested` is there,
/// it is the one that was digested: its number, kind, mask and time are in `syncd_meta.anchor`. A
/// log that another program emptied, wholly or in part, breaks one of the two as soon as rows are
/// written to it again.
package struct LogContinuity {
    private let connection: OpaquePointer
    private let metadata: Metadata

    /// - Parameter connection: that of `metadata`, of a database that has a log.
    package init(_ metadata: Metadata) {
        self.metadata = metadata
        connection = metadata.connection
    }

    /// Notes that the history tables have the log up to `seq`, within the transaction that writes
    /// them.
    ///
    /// - Throws: the error of SQLite.
    package func setDigested(_ seq: Int64) throws {
        try metadata.set(.digested, to: .integer(seq))
        let row = try Statement(LogTable.anchorSQL, on: connection)
        row.bind(seq, at: 1)
        let anchor = try row.step() ? Self.anchor(of: seq, row, from: 0) : nil
        try metadata.set(.anchor, to: anchor.map(Value.text) ?? .null)
    }

    /// Whether rows are missing, or were replaced by others.
    ///
    /// One statement, so that it sees one state of the store also outside of a transaction.
    ///
    /// - Throws: the error of SQLite.
    /// - Complexity: O(log rows that are not in the history tables)
    package func isBroken() throws -> Bool {
        let state = try Statement(LogTable.continuitySQL, on: connection)
        guard try state.step(), !state.isNull(0) else { return false }
        let digested = state.integer(0)
        let newest = state.integer(1)
        // Beyond it, numbers are corrupt: readers say so.
        guard 0...Metadata.positionMax ~= digested, newest <= Metadata.positionMax else {
            return false
        }
        if newest > digested, newest - digested != state.integer(2) { return true }
        guard let anchor = state.text(3), anchor.hasPrefix("\(digested) "), !state.isNull(4) else {
            return false
        }
        return anchor != Self.anchor(of: digested, state, from: 4)
    }

    /// Checks that the log has all rows after `digested` up to `last`, within the transaction that
    /// the connection is in.
    ///
    /// - Throws: `storeDamaged`; the error of SQLite.
    /// - Complexity: O(log rows between), some 50 ns each.
    package func requireAll(after digested: Int64, upTo last: Int64) throws {
        guard last > digested else { return }
        let count = try Statement(LogTable.countBetweenSQL, on: connection)
        count.bind(digested, at: 1)
        count.bind(last, at: 2)
        guard try count.step(), count.integer(0) != last - digested else { return }
        // Another process digested and deleted them.
        guard try metadata.position(.digested) == digested else { return }
        throw Self.isCut
    }

    /// The error for a log from which rows were deleted.
    static let isCut = SyncError(
        .storeDamaged, "another program deleted rows of the table \(LogTable.name)",
        hint: "To repair it run: synctool doctor DB --mend; to remove what is left: "
            + "synctool untrack DB")

    private static func anchor(of seq: Int64, _ row: Statement, from column: Int32) -> String {
        let mask = row.isNull(column + 1) ? "-" : String(row.integer(column + 1))
        let time = row.isNull(column + 2) ? 0 : row.real(column + 2).bitPattern
        return "\(seq) \(row.integer(column)) \(mask) \(String(time, radix: 16))"
    }
}
