import SyncCore
import Testing

@testable import syncd

@Suite struct RemoteScheduleTests {
    private let start = ContinuousClock.now
    private let options = ReplicationOptions()

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// A schedule whose first exchange succeeded at `start`.
    private func idle() -> RemoteSchedule {
        var schedule = RemoteSchedule(options, now: start)
        schedule.begin()
        schedule.succeeded(at: start, wall: .now())
        return schedule
    }

    @Test func aNewRemoteIsDueAtOnceAndThenEachInterval() {
        let new = RemoteSchedule(options, now: start)
        #expect(new.due == start)
        #expect(idle().due == after(30))
    }

    @Test func aCommitIsSentAfterTheDelay() {
        var schedule = idle()
        schedule.committed(at: after(5), wall: .now())
        #expect(schedule.due == after(5.3))
        #expect(schedule.behindSince != nil)
        schedule.begin()
        #expect(schedule.due == nil)
        schedule.succeeded(at: after(6), wall: .now())
        #expect(schedule.due == after(36))
        #expect(schedule.behindSince == nil)
    }

    @Test func aBurstThatDoesNotEndIsSentAfterTenDelays() {
        var schedule = idle()
        for tenth in 0..<100 {
            schedule.committed(at: after(1 + 0.1 * Double(tenth)), wall: .now())
        }
        #expect(schedule.due == after(4))
    }

    @Test func aCommitDuringAnExchangeStartsAnother() {
        var schedule = idle()
        schedule.begin()
        schedule.committed(at: after(1), wall: .now())
        #expect(schedule.due == nil)
        schedule.succeeded(at: after(2), wall: .now())
        #expect(schedule.due == after(2.3))
        #expect(schedule.behindSince != nil)
    }

    @Test func pausesDoubleUpToTheMaximumWhateverHappensMeanwhile() {
        var schedule = idle()
        let error = SyncError(.unreachable, "no route")
        var pauses: [Duration] = []
        var now = start
        for _ in 0..<12 {
            schedule.begin()
            schedule.failed(error, at: now, jitter: 1)
            let due = schedule.due ?? now
            schedule.committed(at: now, wall: .now())
            schedule.changed(at: now)
            #expect(schedule.due == due)
            pauses.append(due - now)
            now = due
        }
        let seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
        #expect(pauses == seconds.map { .seconds($0) })
        #expect(schedule.failures == 12 && schedule.error == error)
        schedule.begin()
        schedule.succeeded(at: now, wall: .now())
        #expect(schedule.failures == 0 && schedule.error == nil)
    }

    @Test func jitterShortensAPauseByAQuarterAtMost() {
        var schedule = idle()
        schedule.begin()
        schedule.failed(SyncError(.unreachable, "no route"), at: start, jitter: 0)
        #expect(schedule.due == after(0.75))
    }
}
