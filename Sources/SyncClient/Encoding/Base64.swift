/// Base64 with padding (RFC 4648 §4).
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var word = 0
            for offset in 0..<3 {
                word = word << 8 | (offset < count ? Int(bytes[start + offset]) : 0)
            }
            for digit in 0..<4 {
                let value = word >> (18 - 6 * digit) & 63
                text.append(digit <= count ? alphabet[value] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes, or nil for anything that ``encode(_:)`` does not write.
    static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 4) else { return nil }
        let count = digits.count - digits.suffix(2).count(where: { $0 == padding })
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3)
        var word = 0
        for (index, digit) in digits[..<count].enumerated() {
            guard let value = value(of: digit) else { return nil }
            word = word << 6 | value
            if index % 4 != 0 {
                bytes.append(UInt8(truncatingIfNeeded: word >> (6 - index % 4 * 2)))
            }
        }
        return encode(bytes) == text ? bytes : nil
    }

    private static func value(of digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): return Int(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): return Int(digit) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return Int(digit) + 4
        case UInt8(ascii: "+"): return 62
        case UInt8(ascii: "/"): return 63
        default: return nil
        }
    }
}
