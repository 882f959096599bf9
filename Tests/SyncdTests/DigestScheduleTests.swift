import NIOCore
import Testing

@testable import syncd

@Suite struct DigestScheduleTests {
    private func at(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(UInt64(1_000_000_000 + milliseconds * 1_000_000))
    }

    @Test func oneTimerIsSetForABurst() {
        var schedule = DigestSchedule()
        let isSet = [0, 50, 100].map { schedule.noteActivity(at: at($0)) }
        #expect(isSet == [true, false, false])
        schedule.end()
        let isSetAgain = schedule.noteActivity(at: at(150))
        #expect(isSetAgain)
    }

    @Test func aDigestWaitsUntilTheStoreIsQuiet() {
        var schedule = DigestSchedule()
        _ = schedule.noteActivity(at: at(0))
        _ = schedule.noteActivity(at: at(150))
        #expect(schedule.delay(at: at(200)) == .milliseconds(150))
        #expect(!schedule.isQuiet(at: at(200)))
        #expect(schedule.delay(at: at(350)) == nil)
        #expect(schedule.isQuiet(at: at(350)))
    }

    @Test func aBurstThatDoesNotEndIsInterrupted() {
        var schedule = DigestSchedule()
        for time in stride(from: Int64(0), through: 1990, by: 10) {
            _ = schedule.noteActivity(at: at(time))
        }
        #expect(schedule.delay(at: at(1995)) != nil)
        #expect(schedule.delay(at: at(2000)) == nil)
        #expect(!schedule.isQuiet(at: at(2000)))
    }
}
