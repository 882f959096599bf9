import Foundation
import SyncCore
import Testing

@testable import synctool

/// Dates and positions as users type them.
@Suite struct DateTests {
    private let now = Timestamp("2026-03-10T15:30:00Z")!

    private func read(_ text: String) throws -> Timestamp {
        try Timestamp(option: "--since", value: text, now: now)
    }

    /// A moment by the clocks here.
    private func local(_ date: String) throws -> Timestamp {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let moment = try #require(formatter.date(from: date))
        return Timestamp(milliseconds: Int64(moment.timeIntervalSince1970 * 1000))
    }

    @Test func datesWithoutAZoneAreLocal() throws {
        #expect(try read("2026-01-31") == local("2026-01-31 00:00:00"))
        #expect(try read("2026-01-31T12:05") == local("2026-01-31 12:05:00"))
        #expect(try read("2026-01-31 12:05:30") == local("2026-01-31 12:05:30"))
        #expect(try read("2026-01-31T12:00:00Z") == Timestamp("2026-01-31T12:00:00Z"))
        #expect(try read("9999-12-31") == local("9999-12-31 00:00:00"))
        #expect(try read("2026-01-31T12:00:00+02:00") == Timestamp("2026-01-31T10:00:00Z"))
    }

    @Test func relativeDates() throws {
        #expect(try read("now") == now)
        #expect(try read("-2h") == Timestamp("2026-03-10T13:30:00Z"))
        #expect(try read("-30d") == Timestamp("2026-02-08T15:30:00Z"))
        let today = try read("today")
        let day = LocalTime.text(now).prefix(10)
        #expect(try today == local("\(day) 00:00:00"))
        #expect(try read("14:05") == local("\(day) 14:05:00"))
        #expect(try read("14:05:30") == local("\(day) 14:05:30"))
        let yesterday = try read("yesterday")
        #expect(LocalTime.text(yesterday).hasSuffix("00:00:00.000"))
        #expect(23...25 ~= (today.milliseconds - yesterday.milliseconds) / 3_600_000)
    }

    @Test(arguments: [
        "", "lately", "25:00", "-2", "-h", "--", "2026-13-01", "2026-02-30", "2026-04-31", "12",
        "2026-01-31T12:00:00+25:00", "2026-01-31T12:00:00+02:60",
        "-2x", "2 days", "ago", "days ago", "0 days ago", "1.5 hours ago", "yesterday 25:00",
        "9999999 days ago", String(repeating: "9", count: 100_000),
    ])
    func whatIsNoDateIsNamed(_ text: String) {
        #expect(throws: SyncError(.invalidArgument, "")) { try read(text) }
    }

    @Test func datesInWords() throws {
        #expect(try read("2 days ago") == Timestamp("2026-03-08T15:30:00Z"))
        #expect(try read("an hour ago") == Timestamp("2026-03-10T14:30:00Z"))
        #expect(try read("90 min ago") == Timestamp("2026-03-10T14:00:00Z"))
        #expect(try read("-2 weeks") == Timestamp("2026-02-24T15:30:00Z"))
        let day = LocalTime.text(now).prefix(8)
        #expect(LocalTime.text(try read("1 year ago")).hasPrefix("2025-03-1"))
        #expect(LocalTime.text(try read("2 months ago")).hasPrefix("2026-01-1"))
        #expect(try read("Today 9:05") == local("\(LocalTime.text(now).prefix(10)) 09:05:00"))
        #expect(LocalTime.text(try read("yesterday 14:05")).hasPrefix(day))
        #expect(LocalTime.text(try read("yesterday 14:05")).hasSuffix("14:05:00.000"))
    }

    @Test func positionsAreNumbersTokensOrDates() throws {
        #expect(try Position(option: "--at", value: "12") == .number(12))
        #expect(try Position(option: "--at", value: "#12") == .number(12))
        let token = "1.98cae9c923b24d1b1048cb1dfbb607e1.1.1.4898196"
        #expect(try Position(option: "--at", value: token) == .token(Token(token)))
        let date = try Position(option: "--at", value: "2026-01-31T12:00:00Z")
        #expect(try date == .date(#require(Timestamp("2026-01-31T12:00:00Z"))))
        #expect(throws: SyncError(.invalidArgument, "")) {
            try Position(option: "--at", value: "here")
        }
    }
}
