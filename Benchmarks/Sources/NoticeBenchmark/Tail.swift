import CNotice
import Foundation
import SyncCore

/// One watched store as the daemon has it: a connection, a boundary reader, and on each event a
/// look.
final class Tail: @unchecked Sendable {
    // Guarded by: only the watch thread touches it once it is added; the figures are read after the
    // watcher stopped.
    private let database: OpaquePointer
    private let reader: BoundaryReader
    private let rows: OpaquePointer
    private(set) var digested: Int64 = 0
    private(set) var looks = 0
    private(set) var inexact = 0
    private(set) var lost = 0
    private(set) var rowCount = 0
    /// How long each look took until the boundaries were known, and in all, in nanoseconds.
    private(set) var boundaryTimes: [Int64] = []
    private(set) var lookTimes: [Int64] = []

    init(_ path: String) throws {
        var database: OpaquePointer?
        guard sqlite3_open(path, &database) == SQLITE_OK, let database else {
            throw CocoaError(.fileReadUnknown)
        }
        self.database = database
        sqlite3_exec(database, "PRAGMA cache_size=-64", nil, nil, nil)
        reader = try BoundaryReader(database)
        var rows: OpaquePointer?
        sqlite3_prepare_v2(
            database, "SELECT seq, op, m, ts, pk FROM syncd_log WHERE seq > ?", -1, &rows, nil)
        guard let rows else { throw CocoaError(.fileReadUnknown) }
        self.rows = rows
    }

    deinit {
        sqlite3_finalize(rows)
        sqlite3_close_v2(database)
    }

    var index: WalIndex? { reader.index }

    /// One look: boundaries and the new rows. Returns the transactions.
    func look() -> [Boundary] {
        looks += 1
        let start = notice_now()
        defer { lookTimes.append(notice_now() - start) }
        reader.willRead()
        sqlite3_exec(database, "BEGIN", nil, nil, nil)
        defer { sqlite3_exec(database, "COMMIT", nil, nil, nil) }
        guard let found = try? reader.boundaries(after: digested) else { return [] }
        boundaryTimes.append(notice_now() - start)
        guard let last = found.transactions.last else { return [] }
        sqlite3_bind_int64(rows, 1, digested)
        while sqlite3_step(rows) == SQLITE_ROW { rowCount += 1 }
        sqlite3_reset(rows)
        inexact += found.transactions.count { !$0.isExact }
        digested = last.last
        return found.transactions
    }
}
