import Glibc
import SyncCore

extension Timestamp {
    /// Reads the value of a date option: ISO 8601, `today`, `yesterday`, `14:05`, `-2h`. Without a
    /// zone it is a local time, as times are printed.
    ///
    /// - Throws: `invalidArgument`, with the accepted forms.
    init(option: String, value: String, now: Timestamp = .now()) throws {
        guard let time = Self.read(value, now: now) else {
            throw SyncError(
                .invalidArgument, "\(option): '\(value)' is not a date",
                hint: "Write 2026-01-31, 2026-01-31T12:00:00Z, 14:05, yesterday, -2h or -30d")
        }
        self = time
    }

    private static func read(_ text: String, now: Timestamp) -> Timestamp? {
        switch text {
        case "now": return now
        case "today": return now.midnight(daysBefore: 0)
        case "yesterday": return now.midnight(daysBefore: 1)
        default: break
        }
        if text.hasPrefix("-") {
            guard let age = Lease(argument: String(text.dropFirst())) else { return nil }
            return now - age.duration
        }
        if text.prefix(3).hasSuffix(":"), let day = now.midnight(daysBefore: 0)?.localDate {
            return Timestamp(day + "T" + text)?.asLocal
        }
        guard let time = Timestamp(text) else { return nil }
        let clock = text.dropFirst("2026-01-31".utf8.count)
        let hasZone = clock.contains { "Zz+-".contains($0) }
        return hasZone ? time : time.asLocal
    }

    static func - (time: Timestamp, age: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds - age.components.seconds * 1000)
    }

    /// The moment at which the clocks here show what this one is in UTC.
    private var asLocal: Timestamp? {
        guard milliseconds.magnitude < 100_000_000_000_000 else { return nil }
        var seconds = time_t(milliseconds / 1000)
        var fields = tm()
        gmtime_r(&seconds, &fields)
        fields.tm_isdst = -1
        return Timestamp(milliseconds: Int64(mktime(&fields)) * 1000 + milliseconds % 1000)
    }

    private var localFields: tm {
        var seconds = time_t(milliseconds / 1000)
        var fields = tm()
        localtime_r(&seconds, &fields)
        return fields
    }

    private func midnight(daysBefore days: Int32) -> Timestamp? {
        var fields = localFields
        (fields.tm_hour, fields.tm_min, fields.tm_sec, fields.tm_isdst) = (0, 0, 0, -1)
        fields.tm_mday -= days
        return Timestamp(milliseconds: Int64(mktime(&fields)) * 1000)
    }

    /// `2026-01-31`, here.
    private var localDate: String {
        let fields = localFields
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(fields.tm_year + 1900)-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))"
    }
}
