import Glibc
import SyncCore

extension Timestamp {
    /// Reads the value of a date option: ISO 8601, `today`, `yesterday`, `yesterday 14:05`,
    /// `14:05`, `-2h`, `2 days ago`. Without a zone it is a local time, as times are printed.
    ///
    /// - Throws: `invalidArgument`, with the accepted forms.
    init(option: String, value: String, now: Timestamp = .now()) throws {
        guard let time = Self.read(value, now: now) else {
            throw SyncError(
                .invalidArgument, "\(option): '\(value.printable(countMax: 100))' is not a date",
                hint: "Write 2026-01-31, 2026-01-31T12:00:00Z, 14:05, yesterday, -2h or "
                    + "'30 days ago'")
        }
        self = time
    }

    private static func read(_ text: String, now: Timestamp) -> Timestamp? {
        // No date is longer.
        guard text.utf8.count <= 100 else { return nil }
        let lower = text.lowercased()
        if lower == "now" { return now }
        if let day = now.day(lower) { return day }
        if lower.hasSuffix(" ago") { return now.before(String(lower.dropLast(" ago".count))) }
        if lower.hasPrefix("-") { return now.before(String(lower.dropFirst())) }
        if let time = now.clock(lower, daysBefore: 0) { return time }
        guard let time = Timestamp(text) else { return nil }
        let clock = text.dropFirst("2026-01-31".utf8.count)
        let hasZone = clock.contains { "Zz+-".contains($0) }
        return hasZone ? time : time.asLocal
    }

    /// `yesterday`, `today 14:05`.
    private func day(_ text: String) -> Timestamp? {
        let words = text.split(separator: " ", maxSplits: 1)
        let days: Int32
        switch words.first {
        case "today": days = 0
        case "yesterday": days = 1
        default: return nil
        }
        return words.count == 1
            ? midnight(daysBefore: days) : clock(String(words[1]), daysBefore: days)
    }

    /// `14:05` of a day.
    private func clock(_ text: String, daysBefore days: Int32) -> Timestamp? {
        let padded = text.prefix(2).hasSuffix(":") ? "0" + text : text
        guard padded.prefix(3).hasSuffix(":"), let day = midnight(daysBefore: days)?.localDate
        else { return nil }
        return Timestamp(day + "T" + padded)?.asLocal
    }

    /// `2 days` before this moment; months and years are those of the calendar.
    private func before(_ age: String) -> Timestamp? {
        guard let (count, word) = TimeUnit.count(in: age) else { return nil }
        if let unit = TimeUnit(word) { return self - .seconds(count * unit.rawValue) }
        var fields = localFields
        switch word {
        case "month", "months": fields.tm_mon -= Int32(count)
        case "y", "year", "years": fields.tm_year -= Int32(count)
        default: return nil
        }
        fields.tm_isdst = -1
        return Timestamp(milliseconds: Int64(mktime(&fields)) * 1000)
    }

    static func - (time: Timestamp, age: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds - age.components.seconds * 1000)
    }

    /// The moment at which the clocks here show what this one is in UTC.
    private var asLocal: Timestamp? {
        // The year 9999, a day of zones included.
        guard milliseconds.magnitude < 253_402_400_000_000 else { return nil }
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
