import Foundation

/// Comparison of text, in memory and by the SQL functions of the layer's connections: one
/// implementation, so that both agree.
enum TextMatching {
    /// The text without what the options ignore.
    static func folded(_ text: String, options: FetchPredicate.TextOptions) -> String {
        var flags: String.CompareOptions = []
        if options.contains(.caseInsensitive) { flags.insert(.caseInsensitive) }
        if options.contains(.diacriticInsensitive) { flags.insert(.diacriticInsensitive) }
        return flags.isEmpty ? text : text.folding(options: flags, locale: nil)
    }

    /// By UTF-8 bytes, as SQLite's BINARY collation.
    static func isLess(_ left: String, than right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    static func isEqual(_ left: String, to right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }

    static func contains(_ text: String, part: String) -> Bool {
        let (bytes, wanted) = (Array(text.utf8), Array(part.utf8))
        guard let first = wanted.first else { return true }
        guard bytes.count >= wanted.count else { return false }
        for start in 0...(bytes.count - wanted.count)
        where bytes[start] == first && bytes[start..<start + wanted.count].elementsEqual(wanted) {
            return true
        }
        return false
    }

    static func begins(_ text: String, with part: String) -> Bool {
        text.utf8.starts(with: part.utf8)
    }

    static func ends(_ text: String, with part: String) -> Bool {
        text.utf8.reversed().starts(with: part.utf8.reversed())
    }

    /// `*` matches any text, `?` one character; `\` makes the next character literal.
    static func like(_ text: String, pattern: String) -> Bool {
        let (scalars, wanted) = (Array(text.unicodeScalars), Array(pattern.unicodeScalars))
        var (place, index) = (0, 0)
        var star: (pattern: Int, text: Int)?
        while place < scalars.count {
            if index < wanted.count, wanted[index] == "*" {
                star = (index, place)
                index += 1
            } else if index + 1 < wanted.count, wanted[index] == "\\",
                wanted[index + 1] == scalars[place]
            {
                index += 2
                place += 1
            } else if index < wanted.count, wanted[index] != "\\",
                wanted[index] == "?" || wanted[index] == scalars[place]
            {
                index += 1
                place += 1
            } else if let back = star {
                index = back.pattern + 1
                place = back.text + 1
                star = (back.pattern, place)
            } else {
                return false
            }
        }
        while index < wanted.count, wanted[index] == "*" { index += 1 }
        return index == wanted.count
    }

    /// The regular expression matches the whole text. A broken expression matches nothing.
    static func matches(
        _ text: String, pattern: String, options: FetchPredicate.TextOptions
    ) -> Bool {
        let flags: NSRegularExpression.Options =
            options.contains(.caseInsensitive) ? [.caseInsensitive] : []
        guard let expression = try? NSRegularExpression(pattern: "^(?:\(pattern))$", options: flags)
        else { return false }
        let range = NSRange(text.startIndex..., in: text)
        return expression.firstMatch(in: text, range: range)?.range == range
    }
}
