import NIOCore
import Testing

@testable import syncd

@Suite struct RepairPaceTests {
    private let start = NIODeadline.now()

    @Test func waitsForAPause() {
        var pace = RepairPace()
        pace.noteCommit(at: start)
        let first = pace.delay(at: start)
        #expect(first == RepairPace.quiet)
        pace.noteCommit(at: start + .milliseconds(150))
        let second = pace.delay(at: start + RepairPace.quiet)
        #expect(second == .milliseconds(150))
        let third = pace.delay(at: start + .milliseconds(350))
        #expect(third == nil)
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
        let overdue = pace.noteBusy(at: start + .seconds(11))
        #expect(overdue == RepairPace.overdueDelay)
        pace.end()
        #expect(!pace.isOverdue(at: start + .seconds(20)))
        let later = pace.noteBusy(at: start + .seconds(20))
        #expect(later == RepairPace.busyDelay)
    }

    @Test func oneTimerAtATime() {
        var pace = RepairPace()
        let before = [pace.schedule(), pace.schedule()]
        pace.timerFired()
        let after = pace.schedule()
        #expect(before == [true, false])
        #expect(after)
    }
}
