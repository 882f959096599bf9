import NIOCore
import Testing

@testable import syncd

@Suite struct RepairPaceTests {
    private let start = NIODeadline.now()

    @Test func waitsForAPause() {
        var pace = RepairPace()
        pace.noteCommit(at: start)
        #expect(pace.delay(at: start) == RepairPace.quiet)
        pace.noteCommit(at: start + .milliseconds(150))
        #expect(pace.delay(at: start + RepairPace.quiet) == .milliseconds(150))
        #expect(pace.delay(at: start + .milliseconds(350)) == nil)
    }

    @Test func waitsForABusyWriterOnlySoLong() {
        var pace = RepairPace()
        let delays = (0...20).map { step -> TimeAmount? in
            let now = start + .milliseconds(Int64(step) * 100)
            pace.noteCommit(at: now)
            return pace.delay(at: now)
        }
        #expect(delays.dropLast().allSatisfy { $0 != nil })
        #expect(delays.last == .some(nil))
    }

    @Test func triesAgainLessOftenAndWaitsForLocksInTheEnd() {
        var pace = RepairPace()
        _ = pace.delay(at: start)
        let delays = (0..<7).map { _ in pace.noteBusy(at: start) }
        #expect(delays == [50, 100, 200, 400, 800, 1_000, 1_000].map { .milliseconds($0) })
        #expect(!pace.isOverdue(at: start + .seconds(9)))
        #expect(pace.isOverdue(at: start + RepairPace.patienceMax))
        #expect(pace.noteBusy(at: start + .seconds(11)) == RepairPace.overdueDelay)
        pace.end()
        #expect(!pace.isOverdue(at: start + .seconds(20)))
        #expect(pace.noteBusy(at: start + .seconds(20)) == RepairPace.busyDelay)
    }

    @Test func oneTimerAtATime() {
        var pace = RepairPace()
        #expect(pace.schedule())
        #expect(!pace.schedule())
        pace.timerFired()
        #expect(pace.schedule())
    }
}
