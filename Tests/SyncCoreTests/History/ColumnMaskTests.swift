import SyncTesting
import Testing

@testable import SyncCore

@Suite struct ColumnMaskTests {
    @Test(arguments: [0, 1, 62, 63, 64, 125, 126, 127, 2000])
    func everyPositionIsFoundAlone(position: Int) {
        var mask = ColumnMask()
        #expect(mask.isEmpty)
        mask.insert(position)
        #expect(!mask.isEmpty)
        #expect(mask.positions == [position])
        #expect(mask.contains(position))
        #expect(!mask.contains(position + 1) && !mask.contains(position + 63))
    }

    /// The log stores a word as an integer: the sign bit stays free.
    @Test func noWordUsesTheSignBit() {
        #expect(ColumnMask(all: 200).words.allSatisfy { $0 >> 63 == 0 })
        #expect(ColumnMask(all: 63).words == [UInt64.max >> 1])
    }

    @Test func allIsEveryPositionBelow() {
        for count in [0, 1, 63, 64, 130] {
            #expect(ColumnMask(all: count).positions == Array(0..<count))
        }
    }

    @Test func aUnionIsThatOfTheSets() {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<100 {
            let sets = (0..<2).map { _ in Set((0..<random.below(9)).map { _ in random.below(200) })
            }
            var masks = sets.map { set in
                var mask = ColumnMask()
                for position in set { mask.insert(position) }
                return mask
            }
            masks[0].formUnion(masks[1])
            #expect(masks[0].positions == sets[0].union(sets[1]).sorted(), "\(seed)")
        }
    }
}
