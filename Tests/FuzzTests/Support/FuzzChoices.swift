import SyncValues

/// Choices that follow from an input, byte by byte: with them the fuzzer steers what a target
/// builds. After the last byte every choice is the first one.
struct FuzzChoices {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }

    /// The bytes that no choice has used.
    var rest: [UInt8] { Array(bytes.dropFirst(position)) }

    mutating func byte() -> UInt8 {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// - Returns: a number from 0 to `limit - 1`; 0 where there is none.
    mutating func below(_ limit: Int) -> Int { limit > 0 ? Int(byte()) % limit : 0 }

    mutating func pick<Items: RandomAccessCollection>(_ items: Items) -> Items.Element? {
        guard !items.isEmpty else { return nil }
        return items[items.index(items.startIndex, offsetBy: below(items.count))]
    }

    /// A number; mostly one at which something ends.
    mutating func number() -> Int64 {
        let choice = Int(byte())
        if choice < Self.numbers.count { return Self.numbers[choice] }
        if choice < 128 { return Int64(choice) - 64 }
        return (0..<8).reduce(0) { number, _ in number << 8 | Int64(byte()) }
    }

    mutating func some(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }

    mutating func text() -> String {
        switch byte() % 8 {
        case 0: return ""
        case 1: return "\u{1b}[31m\u{0}\u{7f}\u{202e}é\u{1F600}"
        case 2: return String(repeating: "x", count: 300)
        case 3: return "[1,\"a\",{\"b\":null}]"
        default: return String(decoding: some(below(12)), as: UTF8.self)
        }
    }

    mutating func value() -> Value {
        switch byte() % 6 {
        case 0: return .null
        case 1: return .integer(number())
        case 2: return .real(Self.reals[below(Self.reals.count)])
        case 3: return .text(text())
        case 4: return .blob(some(below(24)))
        default: return .blob([])
        }
    }

    private static let reals: [Double] = [
        0, -0.0, 1, 0.5, -1.5, 1e18, 9.3e18, -9.3e18, 1e300, .infinity, -.infinity,
        .leastNonzeroMagnitude, 2_460_000.5, 5_373_484.5, -1e15,
    ]

    static let numbers: [Int64] = [
        0, 1, 2, 3, -1, .max, .max - 1, .min, .min + 1, 1 << 32, 1 << 31, (1 << 31) - 1, 1 << 48,
        (1 << 48) - 1, 1 << 53, 1 << 62, -(1 << 31), -(1 << 62), 1_000_000, 1_000_001, 65_535, 255,
        256, 63, 64, 4_102_444_800_000, 253_402_300_800_000, -62_167_219_200_001, .max / 1000,
        .max / 1000 + 1, .min / 1000, 9_223_372_036_854_775,
    ]
}
