import Crypto

/// The numbers that an object shows which has no shared number of its own: a function of its
/// identity alone.
///
/// This function can never change: replicas that computed another one would show other numbers.
enum FallbackNumber {
    /// How many numbers are looked through to find out whether a number is an object's fallback:
    /// two objects have one first number in 1 of 2^51 pairs.
    private static let stepsMax: UInt32 = 3

    /// The `step`-th number (from 1) of an object: -1 to -2^51, which JSON and JavaScript hold
    /// exactly. A hash, because nothing says that identities are spread evenly.
    static func of(_ uid: ObjectUID, _ step: UInt32) -> Int64 {
        var hash = SHA256()
        hash.update(data: Array("syncd shared number".utf8))
        hash.update(data: uid.bytes)
        hash.update(data: (0..<4).map { UInt8(truncatingIfNeeded: step >> (24 - 8 * $0)) })
        let word = hash.finalize().prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return -1 - Int64(word >> 13)
    }

    /// Whether an object shows a number because it has none of its own.
    static func isFallback(_ number: Int64, of uid: ObjectUID) -> Bool {
        guard number < 0 else { return false }
        return (1...stepsMax).contains { of(uid, $0) == number }
    }
}
