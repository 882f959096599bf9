import Foundation
import SyncCore

/// Times as a user reads them, in the time zone of this machine.
enum LocalTime {
    private static let formatter: DateFormatter = {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss.SSS"
        return formatter
    }()

    static func text(_ time: Timestamp) -> String {
        formatter.string(from: Date(timeIntervalSince1970: Double(time.milliseconds) / 1000))
    }

    /// `3 minutes ago`, in whole units.
    static func ago(_ time: Timestamp, now: Timestamp = .now()) -> String {
        let (time, isBeyond) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        let seconds = isBeyond ? 0 : max(0, time) / 1000
        return seconds < 2 ? "just now" : length(.seconds(seconds)) + " ago"
    }

    /// `3 minutes`, in whole units.
    static func age(of time: Timestamp, now: Timestamp = .now()) -> String {
        let (age, isBeyond) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        return length(.milliseconds(isBeyond ? 0 : max(0, age)))
    }

    /// `7 days`: in the largest unit that fits, rounded down.
    static func length(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let units: [(Int64, String)] = [(86_400, "day"), (3600, "hour"), (60, "minute")]
        for (length, unit) in units where seconds >= length {
            return Plural.text(Int(seconds / length), of: unit)
        }
        return Plural.text(Int(seconds), of: "second")
    }
}
