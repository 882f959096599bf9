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

    static func text(_ time: Timestamp, as style: TimeStyle) -> String {
        style == .relative ? ago(time) : text(time)
    }

    /// `3 minutes ago`, in whole units; `in 3 minutes` for a clock that is ahead.
    static func ago(_ time: Timestamp, now: Timestamp = .now()) -> String {
        let (age, isBeyond) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        guard !isBeyond else { return text(time) }
        let seconds = age / 1000
        guard abs(seconds) >= 2 else { return "just now" }
        let length = longLength(abs(seconds))
        return seconds > 0 ? length + " ago" : "in " + length
    }

    /// As ``length(_:)``; from two months on in months, from two years on in years.
    private static func longLength(_ seconds: Int64) -> String {
        let (month, year): (Int64, Int64) = (30 * 86_400, 365 * 86_400)
        if seconds >= 2 * year { return Plural.text(Int(seconds / year), of: "year") }
        if seconds >= 2 * month { return Plural.text(Int(seconds / month), of: "month") }
        return length(.seconds(seconds))
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
