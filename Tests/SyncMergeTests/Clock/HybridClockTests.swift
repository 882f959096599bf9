import SyncTesting
import Testing

@testable import SyncMerge

@Suite struct HybridClockTests {
    @Test func readingsAscendWhateverTheWallClockDoes() {
        let seed = TestSeed.drawn()
        var random = seed.random
        var clock = HybridClock()
        var last = clock.last
        for _ in 0..<1000 {
            let time = clock.reading(
                wall: random.pick([-5, 0, 1000, .max, Int64(random.below(5000))]))
            #expect(time > last || last.rawValue == .max, "\(seed)")
            last = time
        }
    }

    @Test func aReadingIsWallTimeWhereThatIsLater() {
        var clock = HybridClock(last: HybridTime(milliseconds: 1000))
        #expect(clock.reading(wall: 2000) == HybridTime(milliseconds: 2000))
        #expect(clock.reading(wall: 2000) == HybridTime(milliseconds: 2000).next)
        #expect(clock.reading(wall: 500).milliseconds == 2000)
    }

    @Test func aPeerIsFollowedUpToTheDrift() {
        var clock = HybridClock()
        let limit = HybridTime(milliseconds: 1_000 + 300_000)
        #expect(clock.observe(limit, wall: 1_000) == .followed)
        #expect(clock.last == limit)
        #expect(clock.reading(wall: 1_000) == limit.next)
    }

    @Test func aPeerBeyondTheDriftIsContained() {
        var clock = HybridClock(last: HybridTime(milliseconds: 900))
        let ahead = HybridTime(milliseconds: 1_000 + 300_001)
        #expect(
            clock.observe(ahead, wall: 1_000) == .contained(ahead: .milliseconds(300_001)))
        #expect(clock.last == HybridTime(milliseconds: 900), "the clock did not move")
        // What the clock has reached itself is no news.
        clock = HybridClock(last: ahead)
        #expect(clock.observe(ahead, wall: 1_000) == .followed)
    }

    @Test func anEarlierPeerMovesNothing() {
        var clock = HybridClock(last: HybridTime(milliseconds: 900))
        #expect(clock.observe(HybridTime(milliseconds: 5), wall: 1_000) == .followed)
        #expect(clock.last == HybridTime(milliseconds: 900))
    }
}

@Suite struct HybridTimeTests {
    @Test func timesOutsideTheRangeAreItsEnds() {
        #expect(HybridTime(milliseconds: -1) == HybridTime(milliseconds: 0))
        #expect(HybridTime(milliseconds: .min).milliseconds == 0)
        #expect(HybridTime(milliseconds: .max).milliseconds == (1 << 48) - 1)
    }

    @Test func aFullCounterMovesIntoTheNextMillisecond() {
        var time = HybridTime(milliseconds: 7)
        for _ in 0..<(1 << 16) { time = time.next }
        #expect(time == HybridTime(milliseconds: 8))
        #expect(HybridTime(rawValue: .max).next.rawValue == .max)
    }
}
