import Testing

@testable import syncd

/// Whose work runs next.
@Suite struct UserQueuesTests {
    private var queues = UserQueues<String>(own: 0)

    /// Starts all that may start.
    private mutating func start() -> [String] {
        var started: [String] = []
        while let turn = queues.next() { started.append(turn.job) }
        return started
    }

    @Test mutating func oneUserHasAShare() {
        for index in 0..<10 { _ = queues.add("bob\(index)", of: 2001) }
        var started = start()
        #expect(started == ["bob0", "bob1", "bob2"])
        for index in 0..<10 { _ = queues.add("own\(index)", of: 0) }
        started = start()
        #expect(started == ["own0", "own1", "own2", "own3"])
        queues.finish(2001)
        started = start()
        #expect(started == ["bob3"])
    }

    @Test mutating func theFirstJobOfAUserWaitsForNobody() {
        for user in 1...32 as ClosedRange<UInt32> {
            for index in 0..<5 { _ = queues.add("\(user).\(index)", of: user) }
        }
        var started = start()
        #expect(started.count == 32, "each has its first, then the half is full")
        _ = queues.add("alice", of: 99)
        started = start()
        #expect(started == ["alice"])
        _ = queues.add("alice again", of: 99)
        started = start()
        #expect(started.isEmpty)
    }

    @Test mutating func allHaveALimit() {
        for user in 0..<100 as Range<UInt32> { _ = queues.add("\(user)", of: user) }
        var started = start()
        #expect(started.count == queues.shares.allMax)
        queues.finish(0)
        started = start()
        #expect(started == ["64"], "the one that waits longest")
    }

    @Test mutating func usersTakeTurns() {
        for index in 0..<3 { _ = queues.add("a\(index)", of: 1) }
        for index in 0..<3 { _ = queues.add("b\(index)", of: 2) }
        let started = start()
        #expect(started == ["a0", "b0", "a1", "b1", "a2", "b2"])
    }

    @Test mutating func whatWaitsCanBeRemoved() throws {
        for index in 0..<3 { _ = queues.add("x\(index)", of: 1) }
        let added = queues.add("removed", of: 1)
        let removed = try #require(added)
        _ = queues.add("kept", of: 1)
        var started = start()
        #expect(started == ["x0", "x1", "x2"])
        let taken = [queues.remove(removed, of: 1), queues.remove(removed, of: 1)]
        #expect(taken == ["removed", nil])
        queues.finish(1)
        started = start()
        #expect(started == ["kept"])
        queues.finish(1)
        started = start()
        #expect(started.isEmpty)
    }

    @Test mutating func callsThatWaitHaveALimit() {
        let max = queues.shares.waitingMax
        let taken = (0...max).filter { _ in queues.add("x", of: 1, isLimited: true) != nil }
        #expect(taken.count == max)
        let work = queues.add("x", of: 1)
        #expect(work != nil, "the daemon's own work is not refused")
        let other = queues.add("x", of: 2, isLimited: true)
        #expect(other != nil)
    }
}
