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

    @Test(arguments: [(DigestSchedule.Pace.wal, Int64(2_000)), (.rollback, 3_000)])
    func aDigestWaitsUntilTheStoreIsQuiet(_ pace: DigestSchedule.Pace, quiet: Int64) {
        var schedule = DigestSchedule()
        schedule.pace = pace
        _ = schedule.noteActivity(at: at(0))
        _ = schedule.noteActivity(at: at(150))
        #expect(schedule.delay(at: at(quiet)) == .milliseconds(150))
        #expect(!schedule.isQuiet(at: at(quiet)))
        #expect(schedule.delay(at: at(quiet + 150)) == nil)
        #expect(schedule.isQuiet(at: at(quiet + 150)))
    }

    /// Every 200 ms, by programs that wait for no lock.
    @Test func aStoreThatIsNeverQuietIsLeftAloneForMinutes() {
        var schedule = DigestSchedule()
        for time in stride(from: Int64(0), through: 599_800, by: 200) {
            _ = schedule.noteActivity(at: at(time), number: time / 200)
            #expect(schedule.delay(at: at(time + 100)) != nil)
        }
        #expect(schedule.delay(at: at(600_000)) == nil)
    }

    @Test(arguments: [DigestSchedule.Pace.wal, .rollback])
    func aBurstOfManyRowsIsInterrupted(_ pace: DigestSchedule.Pace) {
        var schedule = DigestSchedule()
        schedule.pace = pace
        _ = schedule.noteActivity(at: at(0), number: 1)
        schedule.end()
        _ = schedule.noteActivity(at: at(10), number: 2)
        for time in stride(from: Int64(10), through: 2_000, by: 10) {
            _ = schedule.noteActivity(at: at(time), number: 2 + pace.rowsMax * time / 1_000)
        }
        #expect(schedule.delay(at: at(2_005)) == .milliseconds(195))
        #expect(schedule.delay(at: at(2_010)) == nil, "it does not end")
        #expect(!schedule.isQuiet(at: at(2_010)))
    }

    @Test func aBurstOfManyRowsIsDigestedSoonAfterItsEnd() {
        var schedule = DigestSchedule()
        _ = schedule.noteActivity(at: at(0), number: 100_000)
        #expect(schedule.delay(at: at(50)) == .milliseconds(150))
        #expect(schedule.delay(at: at(200)) == nil)
    }

    @Test func aDigestThatFindsALockTakenWaitsLongerEachTime() {
        var schedule = DigestSchedule()
        let delays = (0..<8).map { second in
            schedule.noteBusy(at: at(Int64(second) * 1000)).nanoseconds / 1_000_000
        }
        #expect(delays == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
        schedule.end()
        let delay = schedule.noteBusy(at: at(60_000))
        #expect(delay == .milliseconds(500))
    }

    @Test func aLockThatIsTakenForTenMinutesIsATrouble() {
        var schedule = DigestSchedule()
        #expect(!schedule.isOverdue(at: at(0)))
        _ = schedule.noteBusy(at: at(0))
        _ = schedule.noteBusy(at: at(300_000))
        #expect(!schedule.isOverdue(at: at(599_000)))
        #expect(schedule.isOverdue(at: at(600_000)))
        schedule.end()
        #expect(!schedule.isOverdue(at: at(700_000)))
    }
}
