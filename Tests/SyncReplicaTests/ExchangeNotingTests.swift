import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// What is written of the outcome of an exchange, and how often.
@Suite("Noting how exchanges end")
struct ExchangeNotingTests {
    private let failure = SyncError(.unreachable, "the folder is away", hint: "Mount it")
    private let both: Set<LastExchange.Direction> = [.pull, .push]

    @Test("an outcome is written when it is another one, and a success once a minute")
    func news() {
        var last = LastExchange()
        #expect(last.lastSync == nil && last.failingSince == nil)
        var told = [1_000, 60_999, 61_000].map { last.note(nil, of: both, at: $0) }
        told += [62_000, 900_000].map { last.note(failure, of: both, at: $0) }
        #expect(told == [true, false, true, true, false])
        #expect(last.failingSince == Timestamp(milliseconds: 62_000))
        #expect(last.lastSync == Timestamp(milliseconds: 61_000))
        let isOther = last.note(
            SyncError(.refused, "another reason"), of: both, at: 901_000)
        #expect(isOther && last.reason == "another reason" && last.hint == nil)
        let isOver = last.note(nil, of: both, at: 901_500)
        #expect(isOver && last.failingSince == nil && last.reason == nil)
    }

    @Test("what failed has to succeed: a pull says nothing of a push")
    func directions() {
        var last = LastExchange()
        var told = [last.note(failure, of: [.push], at: 1_000)]
        told.append(last.note(nil, of: [.pull], at: 2_000))
        #expect(last.failingSince == Timestamp(milliseconds: 1_000))
        told.append(last.note(failure, of: both, at: 3_000))
        #expect(last.failingSince == Timestamp(milliseconds: 1_000))
        told.append(last.note(nil, of: [.push], at: 4_000))
        #expect(last.failingSince != nil)
        told.append(last.note(nil, of: [.pull], at: 5_000))
        #expect(last.failingSince == nil && told == [true, false, true, true, true])
    }

    @Test("any number in the file is read", arguments: [Int64.min, .max, 0, -1])
    func damaged(number: Int64) throws {
        let json = #"{"succeeded": \#(number), "failing": \#(number)}"#
        var last = try JSONDecoder().decode(LastExchange.self, from: Data(json.utf8))
        #expect(last.failingSince?.description.isEmpty == false)
        let told = [1_000, 1_000].map { last.note(nil, of: both, at: $0) }
        #expect(told == [true, false])
        let success = #"{"succeeded": \#(number)}"#
        last = try JSONDecoder().decode(LastExchange.self, from: Data(success.utf8))
        let isNews = last.note(nil, of: both, at: Int64.max)
        #expect(isNews == (number != .max))
    }

    @Test("a failure of the remote is remembered, whatever it is; that the file is held is not")
    func codes() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        try PlainConnection(path).run("CREATE TABLE t(id TEXT PRIMARY KEY)")
        try Store.track(path)
        let url = "dir:" + folder.file("shared")
        let store = try Store.open(path)
        defer { try? store.close() }
        try store.add(remote: RemoteEntry(name: "origin", url: url))
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        for code: SyncError.Code in [.diskFull, .readOnly, .notAllowed, .unreachable] {
            replica.note(failure: SyncError(code, "it is \(code)"), of: both, at: url)
            #expect(try store.lastExchanges()["origin"]?.reason == "it is \(code)")
        }
        try replica.noteSuccess(of: both, at: url)
        replica.note(
            failure: SyncError(.busy, "another process holds it"), of: both, at: url)
        #expect(try store.lastExchanges()["origin"]?.failingSince == nil)
    }

    @Test("a long reason is cut")
    func longReason() {
        var last = LastExchange()
        let text = String(repeating: "x", count: 100_000)
        let told = [1, 2].map { last.note(SyncError(.refused, text), of: both, at: $0) }
        #expect(told == [true, false] && last.reason?.count == 2_000)
    }
}
