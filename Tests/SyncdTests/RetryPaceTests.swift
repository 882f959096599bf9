import Foundation
import SyncTesting
import Testing

@testable import syncd

@Suite struct RetryPaceTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("retry") }

    init() throws { folder = try TemporaryFolder() }

    @Test func triesLessAndLessOften() {
        var pace = RetryPace()
        let start = ContinuousClock.now
        let tries = (0..<300).filter { pace.mayTry(path, now: start + .seconds($0)) }
        #expect(tries.prefix(6) == [0, 1, 3, 7, 15, 31])
        #expect(zip(tries, tries.dropFirst()).allSatisfy { $1 - $0 <= 30 })
    }

    @Test func triesAtOnceWhenTheFileChanges() throws {
        var pace = RetryPace()
        let start = ContinuousClock.now
        for second in 0..<20 { _ = pace.mayTry(path, now: start + .seconds(second)) }
        let before = pace.mayTry(path, now: start + .seconds(20))
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        let after = [20, 20, 21].map { pace.mayTry(path, now: start + .seconds($0)) }
        #expect(!before)
        #expect(after == [true, false, true])
    }
}
