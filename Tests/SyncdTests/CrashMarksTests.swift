import Foundation
import Logging
import SyncTesting
import Testing

@testable import syncd

/// What is remembered of the stores that were being worked on when the daemon ended.
@Suite struct CrashMarksTests {
    private let folder: TemporaryFolder
    private let log = Logger.silent

    init() throws { folder = try TemporaryFolder() }

    private func marks() -> CrashMarks { CrashMarks(directory: folder.path, log: log) }

    /// Ends as a process does that is killed during `body`: what is in the file then stays.
    private func crash(_ marks: CrashMarks, on paths: [String]) throws {
        let left = try work(marks, on: paths[...])
        try left.write(to: URL(fileURLWithPath: folder.file("working")))
    }

    /// What is in the file while all are being worked on.
    private func work(_ marks: CrashMarks, on paths: ArraySlice<String>) throws -> Data {
        guard let path = paths.first else {
            return try Data(contentsOf: URL(fileURLWithPath: folder.file("working")))
        }
        return try marks.working(on: path) { try work(marks, on: paths.dropFirst()) }
    }

    @Test func crashesInARowAreCounted() throws {
        for count in 0..<3 {
            let marks = marks()
            #expect(marks.crashes(of: "/bob.db") == count)
            try crash(marks, on: ["/bob.db"])
        }
    }

    @Test func workThatEndedDoesNotCount() throws {
        try crash(marks(), on: ["/bob.db"])
        let marks = marks()
        marks.working(on: "/bob.db") {}
        #expect(marks.crashes(of: "/bob.db") == 1)
        #expect(self.marks().crashes(of: "/bob.db") == 0, "the next one did not crash over it")
    }

    @Test func allStoresThatWereWorkedOnCount() throws {
        try crash(marks(), on: ["/bob.db", "/carol.db"])
        let marks = marks()
        #expect(marks.crashes(of: "/bob.db") == 1 && marks.crashes(of: "/carol.db") == 1)
    }

    /// What the handler of the signal does.
    @Test func afterAFaultOnlyTheWorkOfTheThreadThatEndedCounts() throws {
        let marks = marks()
        var left = try work(marks, on: ["/bob.db", "/carol.db", "/dave.db"])
        let start = try #require(left.range(of: Data("/carol.db".utf8))?.lowerBound)
        left[start - 1] |= 0x80
        try left.write(to: URL(fileURLWithPath: folder.file("working")))
        let next = self.marks()
        #expect(["/bob.db", "/carol.db", "/dave.db"].map(next.crashes) == [0, 1, 0])
    }

    @Test func aQuarantineSurvivesAnOrdinaryStop() throws {
        for _ in 0..<2 { try crash(marks(), on: ["/bob.db"]) }
        for _ in 0..<3 { #expect(marks().crashes(of: "/bob.db") == 2) }
        marks().forgive("/bob.db")
        #expect(marks().crashes(of: "/bob.db") == 0)
    }

    @Test func whatAnotherBootLeftDoesNotCount() throws {
        try crash(marks(), on: ["/bob.db"])
        let file = URL(fileURLWithPath: folder.file("working"))
        var data = try Data(contentsOf: file)
        data[0] = data[0] == 0x30 ? 0x31 : 0x30
        try data.write(to: file)
        #expect(marks().crashes(of: "/bob.db") == 0)
    }

    @Test func nothingIsRememberedWhereNothingCanBe() {
        let marks = CrashMarks(directory: folder.file("missing"), log: log)
        #expect(marks.working(on: "/bob.db") { 1 } == 1)
        marks.forgive("/bob.db")
    }
}
