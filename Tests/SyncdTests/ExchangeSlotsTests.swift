import Testing

@testable import syncd

@Suite struct ExchangeSlotsTests {
    private var slots = ExchangeSlots(own: 0)
    private let start = ContinuousClock.now

    @Test mutating func eachOwnerHasAShare() {
        let bobs = (1...2).map { slots.take("/bob/\($0)", of: 2001, at: start) }
        #expect(bobs == [true, false])
        let own = (1...3).map { slots.take("/own/\($0)", of: 0, at: start) }
        #expect(own == [true, true, false])
        let alice = slots.take("/alice", of: 2002, at: start)
        #expect(alice)
        slots.free("/bob/1")
        let next = slots.take("/bob/2", of: 2001, at: start)
        #expect(next)
    }

    /// As with a folder on a file system that does not answer.
    @Test mutating func anExchangeThatDoesNotEndKeepsNoSlot() {
        let own = (1...2).map { slots.take("/own/\($0)", of: 0, at: start) }
        #expect(own == [true, true])
        let later = start + ExchangeSlots.longMin
        #expect(slots.nextLong(after: start) == later)
        let early = slots.take("/own/3", of: 0, at: later - .seconds(1))
        #expect(!early)
        let again = [3, 1].map { slots.take("/own/\($0)", of: 0, at: later) }
        #expect(again == [true, false], "the first store has one still")
    }

    @Test mutating func longOnesHaveALimit() {
        var time = start
        var count = 0
        for index in 0..<100 {
            if slots.take("/bob/\(index)", of: 2001, at: time) { count += 1 }
            time += ExchangeSlots.longMin
        }
        #expect(count == ExchangeSlots.longMax + ExchangeSlots.ofOther)
        let alice = slots.take("/alice", of: 2002, at: time)
        #expect(alice)
    }
}
