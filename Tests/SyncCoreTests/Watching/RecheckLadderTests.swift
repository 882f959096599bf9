import Testing

@testable import SyncCore

@Suite struct RecheckLadderTests {
    /// All waits of one ladder; from `found` on a commit has been seen.
    private func waits(found: Int? = nil) -> [Int64] {
        var ladder = RecheckLadder()
        var waits: [Int64] = []
        while let wait = ladder.next() {
            waits.append(wait)
            if waits.count == found { ladder.noteFound() }
        }
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
        let all = waits(found: 10)
        for (place, wait) in all.enumerated().dropFirst(10) {
            #expect(wait == all[..<place].reduce(0, +) / 2)
        }
        #expect(all.count < waits().count)
    }

    @Test(arguments: [nil, 1, 10] as [Int?])
    func theLadderEndsBehindItsLength(found: Int?) {
        let all = waits(found: found)
        #expect(all.reduce(0, +) >= RecheckLadder.lengthMax)
        #expect(all.dropLast().reduce(0, +) < RecheckLadder.lengthMax)
        #expect(all.count < 100)
    }
}
