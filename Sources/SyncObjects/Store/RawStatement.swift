import CSQLite
import GRDB
import SyncCore

/// Binds and reads stored values of a statement that GRDB prepared and caches. GRDB's own rows and
/// arguments cost several times as much, and fetching and saving spend most of their time here.
/// Confined to the connection's queue, like the statement.
struct RawStatement {
    private let statement: GRDB.Statement
    private let handle: SQLiteStatement

    init(_ db: Database, sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
        reset()
    }

    /// Resets the statement and clears its parameters.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func bind(_ values: [Value], from first: Int = 1) {
        for (offset, value) in values.enumerated() { bind(Int32(first + offset), to: value) }
    }

    func bind(_ index: Int32, to value: Value) {
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        case .real(let number): sqlite3_bind_double(handle, index, number)
        case .text(var text):
            text.withUTF8 { bytes in
                _ = bytes.withMemoryRebound(to: CChar.self) {
                    syncd_sqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
                }
            }
        case .blob(let bytes):
            guard !bytes.isEmpty else {
                sqlite3_bind_zeroblob(handle, index, 0)
                return
            }
            _ = bytes.withUnsafeBytes {
                syncd_sqlite_bind_blob(handle, index, $0.baseAddress, Int32($0.count))
            }
        }
    }

    /// Moves to the next row; false when there is none.
    ///
    /// - Throws: GRDB's error for what SQLite says. The statement is reset either way.
    func step() throws -> Bool {
        let status = sqlite3_step(handle)
        if status == SQLITE_ROW { return true }
        sqlite3_reset(handle)
        guard status == SQLITE_DONE else {
            let connection = sqlite3_db_handle(handle)
            let code = sqlite3_extended_errcode(connection)
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: sqlite3_errmsg(connection).map { String(cString: $0) }, sql: statement.sql)
        }
        return false
    }

    func run() throws {
        while try step() {}
    }

    /// The number in the only row of the result; 0 if there is none.
    func number() throws -> Int64 {
        guard try step() else { return 0 }
        let answer = value(0)
        reset()
        guard case .integer(let number) = answer else { return 0 }
        return number
    }

    var columnCount: Int { Int(sqlite3_column_count(handle)) }

    func value(_ column: Int) -> Value {
        let column = Int32(column)
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(handle, column) else { return .text("") }
            let count = Int(sqlite3_column_bytes(handle, column))
            return .text(
                String(textBytes: UnsafeBufferPointer(start: text, count: count)))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(handle, column))
            guard count > 0, let bytes = sqlite3_column_blob(handle, column) else {
                return .blob([])
            }
            return .blob([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }
}
