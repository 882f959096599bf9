/// A stable 128-bit hash of text (FNV-1a), for version hashes: equal over processes and machines.
/// It distinguishes versions; it is not a cryptographic hash.
enum Fingerprint {
    static func of(_ text: String) -> String {
        let low = fnv(text, basis: 0xcbf2_9ce4_8422_2325)
        let high = fnv(text, basis: 0x9ae1_6a3b_2f90_404f)
        return hex(high) + hex(low)
    }

    private static func fnv(_ text: String, basis: UInt64) -> UInt64 {
        var hash = basis
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
