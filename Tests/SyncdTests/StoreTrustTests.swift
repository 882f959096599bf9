import Foundation
import SyncTesting
import Testing

@testable import syncd

/// When a store that failed is tried again.
@Suite struct StoreTrustTests {
    private let folder: TemporaryFolder
    private let start = ContinuousClock.now
    private var path: String { folder.file("retry") }

    init() throws { folder = try TemporaryFolder() }

    private func touch(_ text: String, atomically: Bool = false) throws {
        let url = URL(fileURLWithPath: path)
        if !atomically, let handle = try? FileHandle(forWritingTo: url) {
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(text.utf8))
            return try handle.close()
        }
        try Data(text.utf8).write(to: url, options: .atomic)
    }

    @Test func triesLessAndLessOften() {
        var trust = StoreTrust()
        let tries = (0..<300).filter { trust.mayTry(path, isOwn: false, now: start + .seconds($0)) }
        #expect(tries.prefix(6) == [0, 1, 3, 7, 15, 31])
        #expect(zip(tries, tries.dropFirst()).allSatisfy { $1 - $0 <= 30 })
    }

    @Test func triesAtOnceWhenTheFileChanges() throws {
        var trust = StoreTrust()
        for second in 0..<20 { _ = trust.mayTry(path, isOwn: false, now: start + .seconds(second)) }
        let before = trust.mayTry(path, isOwn: false, now: start + .seconds(20))
        try touch("x")
        let after = [20, 20, 21].map {
            trust.mayTry(path, isOwn: false, now: start + .seconds($0))
        }
        #expect(!before)
        #expect(after == [true, false, true])
    }

    /// A store that fails each time, whose file changes each second.
    private func tries(_ trust: inout StoreTrust, isOwn: Bool) throws -> [Int] {
        var tries: [Int] = []
        try touch("x")
        for second in 0..<4000 {
            try touch("y")
            let now = start + .seconds(second)
            guard trust.mayTry(path, isOwn: isOwn, now: now) else { continue }
            tries.append(second)
            _ = trust.noteFailure(of: .opening, now: now)
        }
        return tries
    }

    @Test func aHostileStoreIsLeftAlone() throws {
        var trust = StoreTrust()
        let tries = try tries(&trust, isOwn: false)
        #expect(trust.isQuarantined)
        #expect(tries.prefix(8) == [0, 1, 2, 3, 4, 6, 8, 12])
        #expect(tries.count < 20)
        #expect(zip(tries, tries.dropFirst()).map { $1 - $0 }.max() == 600)
    }

    @Test func anOwnStoreIsLookedAtWhenItChanges() throws {
        var trust = StoreTrust()
        let tries = try tries(&trust, isOwn: true)
        #expect(trust.isQuarantined)
        #expect(zip(tries, tries.dropFirst()).allSatisfy { $1 - $0 <= 30 })
    }

    @Test func itEndsWithAnotherFileAndWithSuccess() throws {
        var trust = StoreTrust()
        try touch("x")
        _ = trust.mayTry(path, isOwn: false, now: start)
        let turns = (0..<6).map { _ in trust.noteFailure(of: .digesting, now: start) }
        #expect(turns == [nil, nil, nil, nil, .began, nil])
        let opened = trust.noteSuccess(of: .opening)
        #expect(opened == nil, "that it opens is nothing new")
        #expect(trust.isQuarantined)
        let soon = start + .milliseconds(10)
        try touch("y")
        let changed = trust.mayTry(path, isOwn: false, now: soon)
        #expect(!changed)
        try touch("z", atomically: true)
        let replaced = trust.mayTry(path, isOwn: false, now: soon)
        #expect(replaced && !trust.isQuarantined)
        let digested = (0..<2).map { _ in trust.noteSuccess(of: .digesting) }
        #expect(digested == [.ended, nil], "told once")
    }

    @Test func aSlowFailureIsEnough() {
        var trust = StoreTrust()
        let turn = trust.noteFailure(of: .opening, after: .seconds(20), now: start)
        #expect(turn == .began)
    }

    @Test func repairsInARowAreFailures() {
        var trust = StoreTrust()
        let rare = (0..<20).map { trust.noteRepair(now: start + .seconds(20 * $0)) }
        #expect(rare.allSatisfy { $0 == nil })
        let often = (0..<6).map { trust.noteRepair(now: start + .seconds(1000 + $0)) }
        #expect(often == [nil, nil, nil, nil, nil, .began])
    }

    @Test func crashesAreWaitedOut() {
        var trust = StoreTrust()
        trust.noteCrashes(2, now: start)
        let tries = (0..<1000).filter {
            trust.mayTry(path, isOwn: false, now: start + .seconds($0))
        }
        #expect(tries == [600])
        let ends = [trust.noteSuccess(of: .opening), trust.noteSuccess(of: .digesting)]
        #expect(ends == [nil, .ended], "the digest may do it again")
    }
}
