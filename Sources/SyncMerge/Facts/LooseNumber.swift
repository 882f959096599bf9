import Crypto
import SyncValues

/// The number that a reference to nothing holds once its own one is that of a row: a function of
/// the object and the column, so that replicas which replace one number state the same.
///
/// This function should not change: replicas that computed another one would have a conflict.
package enum LooseNumber {
    /// How many numbers of one object and column are tried: more than a few are not those of rows.
    package static let stepsMax: UInt32 = 8

    /// The `step`-th number (from 1): -1 to -2^51, which JSON and JavaScript hold exactly, and
    /// which SQLite gives to no row.
    static func of(_ uid: ObjectUID, column: String, _ step: UInt32) -> Int64 {
        var hash = SHA256()
        hash.update(data: Array("syncd loose number".utf8))
        hash.update(data: uid.bytes)
        hash.update(data: (0..<4).map { UInt8(truncatingIfNeeded: step >> (24 - 8 * $0)) })
        hash.update(data: Array(column.utf8))
        let word = hash.finalize().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return -1 - Int64(word >> 13)
    }
}
