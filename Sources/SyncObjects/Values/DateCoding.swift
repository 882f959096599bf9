import Foundation
import SyncCore

/// Dates as stored values. Uses its own calendar arithmetic (Howard Hinnant's `days_from_civil`),
/// because a formatter is about a hundred times slower.
enum DateCoding {
    /// Seconds from 1970 to 2001, between the two epochs.
    private static let epochGap: Int64 = 978_307_200
    /// Dates have at most nine digits of a second: finer than `Date` is outside of 2001 itself.
    private static let nanosecondsPerSecond: Int64 = 1_000_000_000

    static func encode(_ date: Date, as storage: DateStorage) -> Value {
        switch storage {
        case .text: return .text(text(date))
        case .unixSeconds: return .real(date.timeIntervalSince1970)
        case .referenceSeconds: return .real(date.timeIntervalSinceReferenceDate)
        }
    }

    /// The date of a stored value. A number in a text column, or text in a number column, is
    /// read by its own type, because other programs may have written it.
    static func decode(_ value: Value, as storage: DateStorage) -> Date? {
        switch value {
        case .text(let text): return date(text)
        case .real(let seconds): return date(seconds, as: storage)
        case .integer(let seconds): return date(Double(seconds), as: storage)
        case .null, .blob: return nil
        }
    }

    private static func date(_ seconds: Double, as storage: DateStorage) -> Date {
        storage == .referenceSeconds
            ? Date(timeIntervalSinceReferenceDate: seconds) : Date(timeIntervalSince1970: seconds)
    }

    /// `2026-01-01 12:00:00.123`: no zeros at the end of the fraction, so that texts sort as dates
    /// do.
    static func text(_ date: Date) -> String {
        let interval = min(
            max(date.timeIntervalSinceReferenceDate, -63_113_904_000), 252_423_993_599)
        let floor = interval.rounded(.down)
        var seconds = Int64(floor) + epochGap
        var nanoseconds = Int64(((interval - floor) * 1e9).rounded())
        if nanoseconds == nanosecondsPerSecond { (seconds, nanoseconds) = (seconds + 1, 0) }
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let second = seconds - day * 86_400
        let (year, month, dayOfMonth) = civil(day)
        return String(unsafeUninitializedCapacity: textMax) { buffer in
            var text = Digits(buffer: buffer)
            text.put(year, width: 4, before: "-")
            text.put(month, width: 2, before: "-")
            text.put(dayOfMonth, width: 2, before: " ")
            text.put(second / 3600, width: 2, before: ":")
            text.put(second / 60 % 60, width: 2, before: ":")
            text.put(second % 60, width: 2, before: nil)
            if nanoseconds > 0 { text.putFraction(nanoseconds) }
            return text.count
        }
    }

    /// `9999-12-31 23:59:59.999999999`
    private static let textMax = 29

    /// Writes digits into the memory of a string.
    private struct Digits {
        let buffer: UnsafeMutableBufferPointer<UInt8>
        var count = 0

        mutating func put(_ number: Int64, width: Int, before separator: Unicode.Scalar?) {
            var rest = number
            for place in stride(from: count + width - 1, through: count, by: -1) {
                buffer[place] = UInt8(48 + rest % 10)
                rest /= 10
            }
            count += width
            if let separator { putByte(separator) }
        }

        /// Without zeros at the end.
        mutating func putFraction(_ nanoseconds: Int64) {
            putByte(".")
            put(nanoseconds, width: 9, before: nil)
            while buffer[count - 1] == UInt8(ascii: "0") { count -= 1 }
        }

        private mutating func putByte(_ scalar: Unicode.Scalar) {
            buffer[count] = UInt8(ascii: scalar)
            count += 1
        }
    }

    /// Reads what `text(_:)` writes, a `T` between date and time, a `Z` or an offset at the end,
    /// and a date alone.
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        var seconds = days(year: year, month: month, day: day) * 86_400
        guard bytes.count > 10 else {
            return Date(timeIntervalSinceReferenceDate: Double(seconds - epochGap))
        }
        guard bytes.count >= 16, bytes[13] == UInt8(ascii: ":"),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16])
        else { return nil }
        seconds += hour * 3600 + minute * 60
        var index = 16
        var nanoseconds: Int64 = 0
        if index + 2 < bytes.count, bytes[index] == UInt8(ascii: ":") {
            guard let second = number(bytes[17..<19]) else { return nil }
            seconds += second
            index = 19
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            var weight = nanosecondsPerSecond / 10
            while index < bytes.count, let digit = digit(bytes[index]) {
                nanoseconds += digit * weight
                weight /= 10
                index += 1
            }
        }
        guard let offset = offset(bytes[index...]) else { return nil }
        seconds -= offset
        return Date(
            timeIntervalSinceReferenceDate: Double(seconds - epochGap) + Double(nanoseconds) / 1e9)
    }

    /// Seconds east of Greenwich at the end of a text: nothing, `Z`, `+02:00`.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard let sign = bytes.first else { return 0 }
        if sign == UInt8(ascii: "Z"), bytes.count == 1 { return 0 }
        let start = bytes.startIndex
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), bytes.count == 6,
            let hours = number(bytes[start + 1..<start + 3]),
            let minutes = number(bytes[start + 4..<start + 6])
        else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte) - 48 : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        var number: Int64 = 0
        for byte in bytes {
            guard let digit = digit(byte) else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func civil(_ days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
