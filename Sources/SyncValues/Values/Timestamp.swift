#if canImport(Glibc)
    import Glibc
#endif

/// A moment of wall time in milliseconds since 1970-01-01T00:00:00Z. A hint for people: order
/// in history is by number, never by time.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970, without leap seconds.
    public var milliseconds: Int64

    /// Makes a moment.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// From SQLite's `julianday()`, rounded to the millisecond that it was made of. Out of range
    /// (a writer may store anything) gives 1970.
    package init(julianDay: Double) {
        let milliseconds = ((julianDay - 2_440_587.5) * 86_400_000).rounded()
        self.milliseconds = abs(milliseconds) < 1e15 ? Int64(milliseconds) : 0
    }

    /// The present moment by the system's clock.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Earlier by the clock.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension Timestamp: CustomStringConvertible {
    /// ISO 8601 in UTC with milliseconds: `2026-01-01T00:00:00.000Z`.
    public var description: String {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingByFloor: 86_400_000)
        let (year, month, day) = Self.civil(days)
        let seconds = rest / 1000
        func pad(_ value: Int64, width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
        }
        return pad(year, width: 4) + "-" + pad(month, width: 2) + "-" + pad(day, width: 2) + "T"
            + pad(seconds / 3600, width: 2)
            + ":" + pad(seconds / 60 % 60, width: 2) + ":" + pad(seconds % 60, width: 2) + "."
            + pad(rest % 1000, width: 3) + "Z"
    }

    /// Reads `2026-01-01`, `2026-01-01T12:00`, `…:30`, `….250`, each with an optional `Z` or an
    /// offset such as `+02:00`; a space may stand for the `T`. Without a zone it is UTC. Nil for
    /// anything else.
    public init?(_ text: String) {
        var scanner = DigitScanner(text)
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2),
            scanner.skip("-"), let day = scanner.number(2), 1...12 ~= month, 1...31 ~= day
        else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        guard Self.civil(days).day == day else { return nil }
        var milliseconds = days * 86_400_000
        if scanner.skip("T") || scanner.skip(" ") {
            guard let hour = scanner.number(2), scanner.skip(":"), let minute = scanner.number(2),
                hour < 24, minute < 60
            else { return nil }
            milliseconds += (hour * 60 + minute) * 60_000
            if scanner.skip(":") {
                guard let second = scanner.number(2), second < 61 else { return nil }
                milliseconds += second * 1000
                if scanner.skip(".") {
                    guard let fraction = scanner.fraction() else { return nil }
                    milliseconds += fraction
                }
            }
            guard let offset = scanner.zoneMinutes() else { return nil }
            milliseconds -= offset * 60_000
        } else {
            _ = scanner.skip("Z")
        }
        guard scanner.isAtEnd else { return nil }
        self.milliseconds = milliseconds
    }

    // Days since 1970 to a date and back, by Howard Hinnant's algorithms for the proleptic
    // Gregorian calendar (chrono-Compatible Low-Level Date Algorithms).
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.quotientAndRemainder(dividingByFloor: 146_097)
        let dayOfEra = era.remainder
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era.quotient * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.quotientAndRemainder(dividingByFloor: 400)
        let shiftedMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
        let dayOfEra =
            era.remainder * 365 + era.remainder / 4 - era.remainder / 100 + dayOfYear
        return era.quotient * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    fileprivate func quotientAndRemainder(
        dividingByFloor divisor: Int64
    ) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Reads the fixed-width numbers of a date.
private struct DigitScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Character) -> Bool {
        guard rest.first == character.asciiValue else { return false }
        rest = rest.dropFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int64? {
        let digits = rest.prefix(width)
        guard digits.count == width, let value = Self.value(digits) else { return nil }
        rest = rest.dropFirst(width)
        return value
    }

    /// Milliseconds of a decimal fraction of a second with one to nine digits.
    mutating func fraction() -> Int64? {
        let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard 1...9 ~= digits.count, let value = Self.value(digits.prefix(3)) else { return nil }
        rest = rest.dropFirst(digits.count)
        return value * [1, 100, 10, 1][min(3, digits.count)]
    }

    mutating func zoneMinutes() -> Int64? {
        if isAtEnd || skip("Z") { return 0 }
        let sign: Int64 = skip("-") ? -1 : 1
        guard sign == -1 || skip("+"), let hours = number(2) else { return nil }
        _ = skip(":")
        // The widest zones are -12:00 and +14:00.
        guard let minutes = isAtEnd ? 0 : number(2), hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes)
    }

    private static func value(_ digits: some Sequence<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }
}
