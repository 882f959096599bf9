import Foundation
import Testing

@testable import SyncCore
@testable import synctool

/// What people see on a terminal.
@Suite("Times, progress and pager")
struct TerminalTests {
    private let now = Timestamp("2026-03-10T15:30:00Z")!

    @Test(arguments: [
        ("2026-03-10T15:29:59Z", "just now"), ("2026-03-10T15:29:00Z", "1 minute ago"),
        ("2026-03-10T13:30:00Z", "2 hours ago"), ("2026-02-10T15:30:00Z", "28 days ago"),
        ("2025-12-01T15:30:00Z", "3 months ago"), ("2020-03-10T15:30:00Z", "6 years ago"),
        ("2026-03-10T15:33:00Z", "in 3 minutes"), ("2026-03-10T15:30:01Z", "just now"),
    ])
    func relativeTimes(time: String, text: String) throws {
        #expect(LocalTime.ago(try #require(Timestamp(time)), now: now) == text)
    }

    @Test func aTimeBeyondTheNumbersIsShownAsADate() {
        #expect(!LocalTime.ago(Timestamp(milliseconds: .min), now: now).contains("ago"))
    }

    @Test func timesAreAbsoluteWhereNoTerminalIs() throws {
        let history = try #require(
            Synctool.parseAsRoot(["history", "a.db"]) as? History)
        if !Terminal.output.isInteractive { #expect(history.time.style == .absolute) }
        let relative = try #require(
            Synctool.parseAsRoot(["history", "a.db", "--times", "relative"]) as? History)
        #expect(relative.time.style == .relative)
    }

    @Test func aProgressLineFitsAndReplacesTheOneBefore() {
        let text = ProgressLine.text("sync", "pulled 1, pushed 2, 512 bytes", .seconds(75))
        #expect(text == "\r\u{1B}[Ksync: pulled 1, pushed 2, 512 bytes, 75 s")
        let long = ProgressLine.text(String(repeating: "x", count: 200), "", .seconds(1))
        #expect(long.count <= 78 + "\r\u{1B}[K".count)
    }
}
