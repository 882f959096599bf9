import CSQLite
import SyncStorage

/// A hash of a row's values: 48 bits that distinguish two states of one row.
///
/// FNV-1a over the columns of a layout, in order: the storage class, then the value, a text or
/// blob after its length. Stored (`syncd_fingerprint.print`), so that it can never change. Two
/// states of one row are equal once in 2⁴⁸.
struct Fingerprint {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Of the present row of a statement, over these columns of its result.
    static func of(_ row: Statement, columns: [Int32]) -> Int64 {
        var print = Fingerprint()
        for column in columns { print.combine(row, column: column) }
        return Int64((print.state ^ print.state >> 48) & 0xffff_ffff_ffff)
    }

    private mutating func combine(_ row: Statement, column: Int32) {
        let type = sqlite3_column_type(row.handle, column)
        combine(byte: UInt8(truncatingIfNeeded: type))
        switch type {
        case SQLITE_INTEGER: combine(UInt64(bitPattern: row.integer(column)))
        case SQLITE_FLOAT: combine(row.real(column).bitPattern)
        case SQLITE_TEXT:
            combine(
                UnsafeRawPointer(sqlite3_column_text(row.handle, column)), of: row, column: column)
        case SQLITE_BLOB: combine(sqlite3_column_blob(row.handle, column), of: row, column: column)
        default: break
        }
    }

    private mutating func combine(_ start: UnsafeRawPointer?, of row: Statement, column: Int32) {
        let count = Int(sqlite3_column_bytes(row.handle, column))
        combine(UInt64(count))
        guard let start else { return }
        for byte in UnsafeRawBufferPointer(start: start, count: count) { combine(byte: byte) }
    }

    private mutating func combine(_ value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            combine(byte: UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    private mutating func combine(byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x100_0000_01b3
    }
}
