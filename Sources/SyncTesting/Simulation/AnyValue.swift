import SyncMerge

/// Values of every kind that a column may hold, whatever its type: a column of another affinity
/// stores what SQLite makes of them.
enum AnyValue {
    private static let integers: [Int64] = [
        0, 1, -1, 127, 128, -129, 1 << 31, 1 << 53, (1 << 53) + 1, .max, .min,
    ]
    private static let reals: [Double] = [
        0, -0.0, 0.1, 3, -2.5, 1e15, 1e300, .leastNonzeroMagnitude, 0x1p63,
        .infinity, -.infinity,
    ]
    private static let texts: [String] = [
        "", "12", " 12", "1e3", "0x10", "-0", "9223372036854775808", "a\0b", "\0", "ä😀",
        "\u{10FFFF}", "Infinity",
    ]
    /// Not UTF-8.
    private static let bytes: [[UInt8]] = [
        [0x61, 0xFF, 0x62], [0xC3], [0xED, 0xA0, 0x80], [0x31, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
    ]

    static func draw(_ random: inout SeededRandom) -> Value {
        switch random.below(8) {
        case 0: return .null
        case 1, 2: return .integer(random.pick(integers))
        case 3: return .real(random.pick(reals))
        case 4: return .text(random.pick(texts))
        case 5: return .text(String(textBytes: random.pick(bytes)))
        case 6: return .text(String(repeating: random.pick(["ab", "ü"]), count: random.below(200)))
        default: return .blob((0..<random.pick([0, 1, 3, 300])).map { UInt8($0 & 0xFF) })
        }
    }
}
