import CSQLite
import SyncMerge
import SyncValues

/// An SQLite database, in memory or a file, that runs the statements of a simulated writer,
/// constraints and foreign-key actions included.
///
/// Confined to one simulation; statements are kept until it is deallocated.
final class WriterDatabase {
    private let handle: OpaquePointer
    private var statements: ExactMap<OpaquePointer> = [:]

    init(_ path: String = ":memory:") throws {
        var handle: OpaquePointer?
        guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else {
            throw SimulationFailure("SQLite does not open \(path)")
        }
        self.handle = handle
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }

    /// Runs a statement; nil when a constraint refused it.
    /// - Throws: `SimulationFailure` for every other error.
    @discardableResult
    func run(_ sql: String, with values: [Value] = []) throws -> [[Value]]? {
        let statement = try prepared(sql)
        defer { sqlite3_reset(statement) }
        for (index, value) in values.enumerated() {
            bind(value, to: statement, at: Int32(index + 1))
        }
        var rows: [[Value]] = []
        while true {
            let status = sqlite3_step(statement)
            if status == SQLITE_ROW {
                rows.append(
                    (0..<sqlite3_column_count(statement)).map { value(of: statement, at: $0) })
            } else if status == SQLITE_DONE {
                return rows
            } else if [SQLITE_CONSTRAINT, SQLITE_MISMATCH].contains(status & 0xff) {
                return nil  // a mismatch: SET NULL of a column that is a rowid
            } else {
                throw SimulationFailure("\(String(cString: sqlite3_errmsg(handle))) in \(sql)")
            }
        }
    }

    private func prepared(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement
        else {
            throw SimulationFailure("\(String(cString: sqlite3_errmsg(handle))) in \(sql)")
        }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: Value, to statement: OpaquePointer, at index: Int32) {
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let value): sqlite3_bind_int64(statement, index, value)
        case .real(let value): sqlite3_bind_double(statement, index, value)
        case .text(let value):
            let bytes = value.textBytes
            bytes.withUnsafeBytes { bytes in
                let text = bytes.bindMemory(to: CChar.self)
                _ = syncd_sqlite_bind_text(
                    statement, index, text.baseAddress, Int32(bytes.count))
            }
        case .blob(let bytes):
            _ = bytes.withUnsafeBytes {
                syncd_sqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
            }
        }
    }

    private func value(of statement: OpaquePointer, at column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            let text = sqlite3_column_text(statement, column)
            let count = Int(sqlite3_column_bytes(statement, column))
            return .text(String(textBytes: UnsafeBufferPointer(start: text, count: count)))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            guard count > 0, let bytes = sqlite3_column_blob(statement, column) else {
                return .blob([])
            }
            return .blob([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }
}
