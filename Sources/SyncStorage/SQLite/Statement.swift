import CSQLite
import Glibc
import SyncValues

/// A prepared statement on a connection that GRDB owns, for the loops where GRDB's own statement
/// costs too much: capture set-up, digest, merging and history scans.
///
/// Confined to the connection's queue like the connection itself; never crosses it. Values read by
/// `text` and `blob` are copies. Columns count from 0, parameters from 1, as in SQLite.
package final class Statement: ValueBinding {
    package let handle: OpaquePointer
    private let connection: OpaquePointer

    /// - Throws: the error of `sqlite3_prepare_v3`, with the SQL in its reason.
    package init(_ sql: String, on connection: OpaquePointer) throws {
        var handle: OpaquePointer?
        let status = sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard status == SQLITE_OK, let handle else {
            throw SyncError.sqlite(on: connection, status: status, sql: sql)
        }
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Parameters

    package func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }

    package func bind(_ value: Double, at index: Int32) {
        sqlite3_bind_double(handle, index, value)
    }

    package func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    /// Binds UTF-8 text, or a blob.
    package func bind(_ bytes: UnsafeRawBufferPointer, isText: Bool, at index: Int32) {
        if isText {
            _ = bytes.withMemoryRebound(to: CChar.self) {
                syncd_sqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
            }
        } else {
            _ = syncd_sqlite_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count))
        }
    }

    /// Binds `values` from the first parameter on.
    package func bind(_ values: [Value]) {
        for (offset, value) in values.enumerated() { bind(value, at: Int32(offset + 1)) }
    }

    // MARK: Rows

    /// Moves to the next row; false when there is none. The statement is reset after the last row
    /// and after an error, so that it never holds a lock.
    /// - Throws: the error of SQLite, with the SQL in its reason.
    package func step() throws -> Bool { try step(over: nil) }

    /// ``step()`` of a statement that reads `rows` (``RowStatement``).
    func step(over rows: OpaquePointer?) throws -> Bool {
        let status = rows == nil ? sqlite3_step(handle) : syncd_rows_step(handle, rows)
        if status == SQLITE_ROW { return true }
        guard status == SQLITE_DONE else {
            let error = SyncError.sqlite(on: connection, status: status, sql: sql)
            sqlite3_reset(handle)
            throw error
        }
        sqlite3_reset(handle)
        return false
    }

    /// Runs a statement that returns no row, or whose rows are not wanted.
    /// - Throws: as ``step()``.
    package func run() throws {
        while try step() {}
    }

    /// Runs with `values` bound from the first parameter on.
    /// - Throws: as ``step()``.
    package func run(_ values: Value...) throws {
        bind(values)
        try run()
    }

    package func reset() { sqlite3_reset(handle) }

    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    package func isInteger(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER
    }

    package func isReal(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_FLOAT
    }

    /// Whether a column has this text, of these UTF-8 bytes.
    package func hasText(_ bytes: UnsafeRawBufferPointer, _ column: Int32) -> Bool {
        guard sqlite3_column_type(handle, column) == SQLITE_TEXT else { return false }
        let text = sqlite3_column_text(handle, column)
        return has(bytes, at: text.map { UnsafeRawPointer($0) }, column)
    }

    /// Whether a column has this blob.
    package func hasBlob(_ bytes: UnsafeRawBufferPointer, _ column: Int32) -> Bool {
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB else { return false }
        return has(bytes, at: sqlite3_column_blob(handle, column), column)
    }

    private func has(
        _ bytes: UnsafeRawBufferPointer, at start: UnsafeRawPointer?, _ column: Int32
    ) -> Bool {
        guard Int(sqlite3_column_bytes(handle, column)) == bytes.count else { return false }
        guard let start, let base = bytes.baseAddress else {
            return bytes.isEmpty
        }
        return memcmp(start, base, bytes.count) == 0
    }

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func integerOrNil(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    package func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    package func text(_ column: Int32) -> String? {
        guard let text = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(textBytes: UnsafeBufferPointer(start: text, count: count))
    }

    package func blob(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        guard count > 0, let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// The identifier in a blob of sixteen bytes; nil for anything else.
    package func identifier<ID: Identifier>(_ column: Int32) -> ID? {
        withBlob(column) { ID(bytes: $0) }
    }

    /// Calls `body` with the bytes of a blob, without a copy; they end with it.
    package func withBlob<Result>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let count = Int(sqlite3_column_bytes(handle, column))
        let bytes = sqlite3_column_blob(handle, column)
        return try body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }

    /// Runs a statement that returns no row.
    /// - Returns: false when a constraint refuses it.
    /// - Throws: as ``step()``.
    package func runUnlessRefused() throws -> Bool { try runUnlessRefused(over: nil) }

    /// ``runUnlessRefused()`` of a statement that reads `rows` (``RowStatement``).
    func runUnlessRefused(over rows: OpaquePointer?) throws -> Bool {
        let status = rows == nil ? sqlite3_step(handle) : syncd_rows_step(handle, rows)
        // The connection may give extended codes.
        let isRefused = status & 0xFF == SQLITE_CONSTRAINT
        guard status == SQLITE_DONE || isRefused else {
            let error = SyncError.sqlite(on: connection, status: status, sql: sql)
            sqlite3_reset(handle)
            throw error
        }
        sqlite3_reset(handle)
        return !isRefused
    }

    package func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(integer(column))
        case SQLITE_FLOAT: return .real(real(column))
        case SQLITE_TEXT: return .text(text(column) ?? "")
        case SQLITE_BLOB: return .blob(blob(column) ?? [])
        default: return .null
        }
    }

    /// Rows that the last INSERT, UPDATE or DELETE of the connection changed.
    package var changes: Int { Int(sqlite3_changes64(connection)) }

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    package var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }
}

extension Statement {
    /// Appends the value of a column as ``ByteWriter`` writes a ``Value``, without making one.
    /// - Complexity: O(bytes)
    package func append(_ column: Int32, to writer: inout ByteWriter) {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER:
            writer.append(byte: 1)
            writer.append(signed: sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT:
            writer.append(byte: 2)
            writer.append(bigEndian: sqlite3_column_double(handle, column).bitPattern)
        case SQLITE_TEXT:
            // The text before its length: it may be converted (sqlite.org/c3ref/column_blob.html).
            let text = sqlite3_column_text(handle, column)
            append(UnsafeRawPointer(text), tag: 3, column, to: &writer)
        case SQLITE_BLOB:
            let bytes = sqlite3_column_blob(handle, column)
            append(bytes, tag: 4, column, to: &writer)
        default: writer.append(byte: 0)
        }
    }

    private func append(
        _ bytes: UnsafeRawPointer?, tag: UInt8, _ column: Int32, to writer: inout ByteWriter
    ) {
        let count = bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        writer.append(byte: tag)
        writer.append(varint: UInt64(count))
        writer.append(bytes: UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
