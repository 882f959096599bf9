/// Cells, or columns, of one entity, by their positions: as bits of two words, which have room for
/// those of nearly every table. (One of 128 bits is aligned to 16 bytes; there are many of these.)
struct PositionSet: Hashable, Sendable {
    /// How many columns an entity may have, so that each has a place.
    static let columnsMax = 128
    /// How many cells: a place is left for ``none``.
    static let cellsMax = 127

    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// No positions.
    init() {}

    /// Some positions.
    init(_ positions: [Int]) {
        for position in positions { insert(position) }
    }

    /// A mark that is no set of positions.
    static let none = PositionSet([cellsMax])

    var isEmpty: Bool { low | high == 0 }
    var count: Int { low.nonzeroBitCount + high.nonzeroBitCount }

    func contains(_ position: Int) -> Bool {
        (position < 64 ? low >> UInt64(position) : high >> UInt64(position - 64)) & 1 == 1
    }

    /// Whether the two have a position in common.
    func intersects(_ other: PositionSet) -> Bool { low & other.low | high & other.high != 0 }

    func isSubset(of other: PositionSet) -> Bool { low & ~other.low | high & ~other.high == 0 }

    mutating func insert(_ position: Int) {
        if position < 64 { low |= 1 << UInt64(position) } else { high |= Self.bit(position) }
    }

    mutating func remove(_ position: Int) {
        if position < 64 { low &= ~(1 << UInt64(position)) } else { high &= ~Self.bit(position) }
    }

    private static func bit(_ position: Int) -> UInt64 { 1 << UInt64(position - 64) }

    mutating func formUnion(_ other: PositionSet) {
        low |= other.low
        high |= other.high
    }

    func intersection(_ other: PositionSet) -> PositionSet {
        var both = self
        both.low &= other.low
        both.high &= other.high
        return both
    }

    /// The positions, ascending.
    var positions: [Int] {
        var positions: [Int] = []
        positions.reserveCapacity(count)
        Self.append(low, from: 0, to: &positions)
        Self.append(high, from: 64, to: &positions)
        return positions
    }

    private static func append(_ word: UInt64, from start: Int, to positions: inout [Int]) {
        var rest = word
        while rest != 0 {
            positions.append(start + rest.trailingZeroBitCount)
            rest &= rest - 1
        }
    }
}
