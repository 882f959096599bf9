import SyncCore

#if canImport(Glibc)
    import Glibc
#endif

/// Times as a user reads them, in the time zone of this machine.
enum LocalTime {
    /// `2026-01-01 12:00:00.000`. Times beyond the years of the calendar are shown as milliseconds
    /// since 1970.
    static func text(_ time: Timestamp) -> String {
        let (quotient, remainder) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        let milliseconds = remainder < 0 ? remainder + 1000 : remainder
        var seconds = time_t(remainder < 0 ? quotient - 1 : quotient)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return "\(time.milliseconds) ms" }
        let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0), to: 2) }
        return padded(date[0], to: 4) + "-" + padded(date[1], to: 2) + "-" + padded(date[2], to: 2)
            + " " + clock.joined(separator: ":") + "." + padded(Int(milliseconds), to: 3)
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number.magnitude)
        let zeros = String(repeating: "0", count: max(0, width - digits.count))
        return (number < 0 ? "-" : "") + zeros + digits
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
