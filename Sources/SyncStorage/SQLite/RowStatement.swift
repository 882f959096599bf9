import CSQLite
import SyncValues

/// A statement that SQLite runs once for many rows, which it reads from a table in memory: to begin
/// and to end a statement for each row costs about as much as to write the row.
///
/// ```swift
/// let insert = try RowStatement(width: 2, on: connection) { rows in
///     "INSERT OR FAIL INTO item(id, title) SELECT c1, c2 FROM \(rows)"
/// }
/// insert.addRow()
/// insert.bind(1, at: 1)
/// insert.bind("Bread", at: 2)
/// let isWritten = try insert.runUnlessRefused()
/// ```
///
/// SQLite reads the rows in the order in which they were added, as the outer loop of a join. Their
/// columns have no type: `+c1` compares as a parameter does, `c1` as a column.
///
/// Confined to its connection's queue.
package final class RowStatement: ValueBinding {
    private let statement: Statement
    private let rows: OpaquePointer
    /// The rows that were added since it ran.
    package private(set) var count = 0
    /// More is not worth it.
    private static let memoryMax = 1 << 20

    /// - Parameters:
    ///   - width: the number of columns: c1, c2 and so on.
    ///   - sql: its text, with the name of the table of the rows.
    /// - Throws: as ``Statement/init(_:on:)``.
    package init(
        width: Int, on connection: OpaquePointer, _ sql: (_ rows: String) -> String
    ) throws {
        let status = syncd_rows_register(connection, Int32(width))
        guard status == SQLITE_OK else { throw SyncError.sqlite(on: connection, status: status) }
        guard let rows = syncd_rows_make(Int32(width)) else {
            preconditionFailure("no memory for rows")
        }
        self.rows = rows
        do {
            statement = try Statement(sql("syncd_rows_\(width)"), on: connection)
        } catch {
            syncd_rows_free(rows)
            throw error
        }
    }

    deinit { syncd_rows_free(rows) }

    // MARK: Rows to read

    /// Begins a row of NULLs, into which ``bind(_:at:)`` writes.
    package func addRow() {
        precondition(syncd_rows_add(rows) == SQLITE_OK, "no memory for a row")
        count += 1
    }

    /// Whether it should run before more are added.
    package var isFull: Bool { syncd_rows_memory(rows) > Self.memoryMax }

    package func bind(_ value: Int64, at index: Int32) {
        syncd_rows_set_integer(rows, index - 1, value)
    }

    package func bind(_ value: Double, at index: Int32) {
        syncd_rows_set_real(rows, index - 1, value)
    }

    package func bindNull(_ index: Int32) { syncd_rows_set_null(rows, index - 1) }

    package func bind(_ bytes: UnsafeRawBufferPointer, isText: Bool, at index: Int32) {
        let status = syncd_rows_set_bytes(
            rows, index - 1, isText ? 1 : 0, bytes.baseAddress, Int32(bytes.count))
        precondition(status == SQLITE_OK, "no memory for a value")
    }

    /// Forgets the row that was added last.
    package func removeNewestRow() {
        syncd_rows_remove_newest(rows)
        count -= 1
    }

    /// Forgets the rows that were added.
    package func removeRows() {
        syncd_rows_clear(rows)
        count = 0
    }

    // MARK: Running

    /// Runs for the rows that were added, and forgets them.
    /// - Returns: false when a constraint refuses one of them, or one changes nothing.
    /// - Throws: as ``Statement/step()``.
    package func runUnlessRefused() throws -> Bool {
        guard count > 0 else { return true }
        defer { removeRows() }
        return try statement.runUnlessRefused(over: rows) && statement.changes == count
    }

    /// Runs for the rows that were added, and forgets them.
    /// - Throws: as ``Statement/step()``.
    package func run() throws {
        guard count > 0 else { return }
        defer { removeRows() }
        while try statement.step(over: rows) {}
    }

    /// Calls `body` with each row that the statement gives for those that were added, then forgets
    /// these.
    /// - Throws: as ``Statement/step()``; what `body` throws.
    package func forEachRow(_ body: (Statement) throws -> Void) throws {
        guard count > 0 else { return }
        defer { removeRows() }
        defer { statement.reset() }
        while try statement.step(over: rows) { try body(statement) }
    }
}
