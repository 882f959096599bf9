import SyncCore
import Testing

@testable import syncd

@Suite struct RemoteScheduleTests {
    private let start = ContinuousClock.now
    private let options = ReplicationOptions()

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

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
        #expect(idle().due == after(30_000))
    }

    @Test func aCommitIsSentAfterTheDelay() {
        var schedule = idle()
        schedule.committed(at: after(5000), wall: .now())
        #expect(schedule.due == after(5300))
        #expect(schedule.behindSince != nil)
        schedule.begin()
        #expect(schedule.due == nil)
        schedule.succeeded(at: after(6000), wall: .now())
        #expect(schedule.due == after(36_000))
        #expect(schedule.behindSince == nil)
    }

    /// What was committed while an exchange was under way may not be in it.
    @Test func transactionsAreUnsentUntilAnExchangeThatBeganAfterThemSucceeds() {
        var schedule = idle()
        schedule.committed(2, at: after(5000), wall: .now())
        schedule.begin()
        schedule.committed(1, at: after(5100), wall: .now())
        #expect(schedule.unsent == 3)
        schedule.failed(SyncError(.unreachable, "no route"), at: after(5200), jitter: 0)
        #expect(schedule.unsent == 3 && schedule.failureCount == 1)
        #expect(schedule.failingSince != nil)
        schedule.begin()
        schedule.committed(4, at: after(7000), wall: .now())
        schedule.succeeded(at: after(7100), wall: .now())
        #expect(schedule.unsent == 4)
        #expect(schedule.failingSince == nil && schedule.failureCount == 1)
    }

    /// A daemon that was started again does not know what the one before it could not send.
    @Test func nothingUnsentIsNotSaidBeforeAnExchangeSucceeded() {
        var schedule = RemoteSchedule(options, now: start)
        #expect(schedule.knownUnsent == nil)
        let time = Timestamp(milliseconds: 1_700_000_000_000)
        schedule.learn(unsent: 2, since: time)
        #expect(schedule.knownUnsent == 2 && schedule.behindSince == time)
        schedule.begin()
        schedule.failed(SyncError(.unreachable, "no route"), at: after(100), jitter: 0)
        schedule.committed(at: after(200), wall: .now())
        #expect(schedule.knownUnsent == 3 && schedule.behindSince == time)
        schedule.begin()
        schedule.succeeded(at: after(2000), wall: .now())
        #expect(schedule.knownUnsent == 0 && schedule.behindSince == nil)
        schedule.learn(unsent: 5, since: time)
        #expect(schedule.knownUnsent == 0)
    }

    @Test func aBurstThatDoesNotEndIsSentAfterTenDelays() {
        var schedule = idle()
        for time in stride(from: 1000, to: 4000, by: 100) {
            schedule.committed(at: after(time), wall: .now())
        }
        #expect(schedule.due == after(4000))
    }

    @Test func aCommitDuringAnExchangeStartsAnother() {
        var schedule = idle()
        schedule.begin()
        schedule.committed(at: after(1000), wall: .now())
        #expect(schedule.due == nil)
        schedule.succeeded(at: after(2000), wall: .now())
        #expect(schedule.due == after(2300))
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
        #expect(schedule.due == after(750))
    }
}
