/// Units of time as a user writes them: `90s`, `30 min`, `2 days`.
enum TimeUnit: Int64 {
    case second = 1
    case minute = 60
    case hour = 3_600
    case day = 86_400
    case week = 604_800

    /// - Parameter word: `h`, `hour` or `hours`, in any case.
    init?(_ word: Substring) {
        switch word.lowercased() {
        case "s", "sec", "second", "seconds": self = .second
        case "m", "min", "minute", "minutes": self = .minute
        case "h", "hour", "hours": self = .hour
        case "d", "day", "days": self = .day
        case "w", "week", "weeks": self = .week
        default: return nil
        }
    }

    /// Reads a number and what follows it: `30d`, `2 days`, `an hour`.
    ///
    /// - Returns: nil where there is no number from 1 to 999,999.
    static func count(in text: String) -> (count: Int64, unit: Substring)? {
        let words = text.split(separator: " ")
        if words.count == 2, ["a", "an", "one"].contains(words[0].lowercased()) {
            return (1, words[1])
        }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text[digits.endIndex...].drop { $0 == " " }
        guard let count = Int64(digits), 1..<1_000_000 ~= count else { return nil }
        return (count, unit)
    }
}
