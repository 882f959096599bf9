/// Random numbers that follow from a seed alone, on every machine (SplitMix64).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Two generators with one seed give the same numbers. The seed is mixed before use: the
    /// streams of neighbouring seeds would otherwise be one stream, shifted by one.
    public init(seed: UInt64) { state = Self.mixed(seed &+ 0x1234_5678_9abc_def1) }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mixed(state)
    }

    private static func mixed(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }

    /// A number from 0 to `limit - 1`.
    public mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    /// True in `share` of all cases; 0 is never, 1 always.
    public mutating func chance(_ share: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < share
    }

    /// True once in `times` cases.
    public mutating func once(in times: Int) -> Bool { below(times) == 0 }

    /// One of the items; there must be one.
    public mutating func pick<Item>(_ items: [Item]) -> Item { items[below(items.count)] }

    /// An independent generator, for a part whose use of numbers must not disturb the rest.
    public mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}
