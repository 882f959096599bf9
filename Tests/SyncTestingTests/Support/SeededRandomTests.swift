import SyncTesting
import Testing

@Suite struct SeededRandomTests {
    private func numbers(_ seed: UInt64) -> [UInt64] {
        var random = SeededRandom(seed: seed)
        return (0..<100).map { _ in random.next() }
    }

    @Test func oneSeedGivesOneSequence() {
        #expect(numbers(4711) == numbers(4711))
    }

    /// Neighbouring seeds are used beside each other: their sequences must have nothing in common.
    @Test func neighbouringSeedsShareNothing() {
        #expect(Set(numbers(1)).isDisjoint(with: numbers(2)))
    }

    /// A change would make every seed that was ever noted down worthless.
    @Test func theSequenceStaysWhatItWas() {
        #expect(numbers(0).prefix(2) == [0xe407_fa87_83ff_2d4e, 0x36bb_c91a_c362_f722])
    }

    @Test func aSeedIsPrintedInTheFormThatRepeatsIt() {
        #expect(TestSeed(4711).description == "SYNCD_SEED=4711")
    }
}
