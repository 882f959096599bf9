import Foundation
import SyncTesting
import Testing

@testable import SyncValues

@Suite struct TimestampTests {
    @Test func printsAndReadsItself() {
        let seed = TestSeed.drawn()
        var generator = seed.random
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        for _ in 0..<500 {
            let time = Timestamp(
                milliseconds: .random(in: -2_000_000_000_000...4_000_000_000_000, using: &generator)
            )
            #expect(Timestamp(time.description) == time, "\(seed): \(time.milliseconds)")
            let date = formatter.date(from: time.description)
            let foundation = (date?.timeIntervalSince1970 ?? .nan) * 1000
            #expect(Int64(foundation.rounded()) == time.milliseconds, "\(seed)")
        }
    }

    @Test(arguments: [
        ("2026-01-01", 1_767_225_600_000), ("2026-01-01T01:00+01:00", 1_767_225_600_000),
        ("2026-01-01 00:00:00.5", 1_767_225_600_500), ("1970-01-01T00:00:00Z", 0),
    ])
    func readsWhatPeopleWrite(text: String, milliseconds: Int64) {
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test(arguments: ["", "yesterday", "2026-13-01", "2026-01-01T25:00", "2026-01-01x", "20260101"])
    func refusesNonsense(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func julianDayKeepsMilliseconds() {
        let time = Timestamp(milliseconds: 1_767_225_600_123)
        let day = Double(time.milliseconds) / 86_400_000 + 2_440_587.5
        #expect(Timestamp(julianDay: day) == time)
    }
}
