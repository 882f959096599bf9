import Testing

@testable import SyncCore

@Suite struct RecheckLadderTests {
    /// All waits of one ladder; `hasFound`: a commit was seen right at the notice.
    private func waits(hasFound: Bool = false) -> [Int64] {
        var ladder = RecheckLadder(hasFound: hasFound)
        var waits: [Int64] = []
        while let wait = ladder.next() { waits.append(wait) }
        return waits
    }

    @Test func theFirstStepsAreAsSmallAsACommitIsFast() {
        #expect(waits().prefix(2).reduce(0, +) <= 30_000)
    }

    @Test func waitsNeverShrinkUpToTheQuarters() {
        let first = waits().prefix(10)
        #expect(zip(first, first.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test func aLateStepIsAQuarterOfWhatWentBefore() {
        let all = waits()
        for (place, wait) in all.enumerated().dropFirst(10) {
            #expect(wait == all[..<place].reduce(0, +) / 4)
        }
    }

    @Test func aCommitThatWasSeenMakesTheStepsLarger() {
        let all = waits(hasFound: true)
        for (place, wait) in all.enumerated().dropFirst(10) {
            #expect(wait == all[..<place].reduce(0, +) / 2)
        }
        #expect(all.count < waits().count)
    }

    @Test(arguments: [false, true])
    func theLadderEndsBehindItsLength(hasFound: Bool) {
        let all = waits(hasFound: hasFound)
        #expect(all.reduce(0, +) >= RecheckLadder.lengthMax)
        #expect(all.dropLast().reduce(0, +) < RecheckLadder.lengthMax)
        #expect(all.count < 100)
    }
}
