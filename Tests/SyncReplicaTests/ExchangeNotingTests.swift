import Foundation
import Testing

@testable import SyncReplica
@testable import SyncValues

/// What is written of the outcome of an exchange, and how often.
@Suite("Noting how exchanges end")
struct ExchangeNotingTests {
    private let failure = SyncError(.unreachable, "the folder is away", hint: "Mount it")

    @Test("an outcome is written when it is another one, and a success once a minute")
    func news() {
        var last = LastExchange()
        #expect(last.lastSync == nil && last.failingSince == nil)
        var told = [1_000, 60_999, 61_000].map { last.note(nil, at: $0) }
        told += [62_000, 900_000].map { last.note(failure, at: $0) }
        #expect(told == [true, false, true, true, false])
        #expect(last.failingSince == Timestamp(milliseconds: 62_000))
        #expect(last.lastSync == Timestamp(milliseconds: 61_000))
        let isOther = last.note(SyncError(.refused, "another reason"), at: 901_000)
        #expect(isOther && last.reason == "another reason" && last.hint == nil)
        let isOver = last.note(nil, at: 901_500)
        #expect(isOver && last.failingSince == nil && last.reason == nil)
    }

    @Test("any number in the file is read", arguments: [Int64.min, .max, 0, -1])
    func damaged(number: Int64) throws {
        let json = #"{"succeeded": \#(number), "failing": \#(number)}"#
        var last = try JSONDecoder().decode(LastExchange.self, from: Data(json.utf8))
        #expect(last.failingSince?.description.isEmpty == false)
        let told = [1_000, 1_000].map { last.note(nil, at: $0) }
        #expect(told == [true, false])
        let success = #"{"succeeded": \#(number)}"#
        last = try JSONDecoder().decode(LastExchange.self, from: Data(success.utf8))
        let isNews = last.note(nil, at: Int64.max)
        #expect(isNews == (number != .max))
    }

    @Test("a long reason is cut")
    func longReason() {
        var last = LastExchange()
        let text = String(repeating: "x", count: 100_000)
        let told = [1, 2].map { last.note(SyncError(.refused, text), at: $0) }
        #expect(told == [true, false] && last.reason?.count == 2_000)
    }
}
