/// Cells of one entity, by their positions: as bits of two words, which have room for those of
/// nearly every table. (One of 128 bits is aligned to 16 bytes; there are many of these.)
struct CellSet: Hashable, Sendable {
    /// How many cells an entity may have, so that each has a place.
    static let countMax = 127

    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// No cells.
    init() {}

    /// A mark that is no set of cells.
    static let none = {
        var set = CellSet()
        set.insert(countMax)
        return set
    }()

    var isEmpty: Bool { low | high == 0 }
    var count: Int { low.nonzeroBitCount + high.nonzeroBitCount }

    func contains(_ cell: Int) -> Bool {
        (cell < 64 ? low >> UInt64(cell) : high >> UInt64(cell - 64)) & 1 == 1
    }

    /// Whether the two have a cell in common.
    func intersects(_ other: CellSet) -> Bool { low & other.low | high & other.high != 0 }

    func isSubset(of other: CellSet) -> Bool { low & ~other.low | high & ~other.high == 0 }

    mutating func insert(_ cell: Int) {
        if cell < 64 { low |= 1 << UInt64(cell) } else { high |= 1 << UInt64(cell - 64) }
    }

    mutating func remove(_ cell: Int) {
        if cell < 64 { low &= ~(1 << UInt64(cell)) } else { high &= ~(1 << UInt64(cell - 64)) }
    }

    mutating func formUnion(_ other: CellSet) {
        low |= other.low
        high |= other.high
    }

    /// The positions, ascending.
    var positions: [Int] {
        var positions: [Int] = []
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
