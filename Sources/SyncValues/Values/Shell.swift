/// Words as a shell reads them.
package enum Shell {
    /// The word, in quotes where it needs them.
    package static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ":"),
                UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ","), 0x80...0xFF:
                return true
            default: return false
            }
        }
        guard word.isEmpty || !plain else { return word }
        if word.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return escaped(word) }
        // SQL is full of single quotes: it reads better in double ones.
        let scalars = word.unicodeScalars
        if scalars.contains("'"), !scalars.contains(where: "\"$`\\!".unicodeScalars.contains) {
            return "\"\(word)\""
        }
        // By scalars: to String, a quote with a combining mark behind it is another Character.
        return "'"
            + scalars.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
            .joined(separator: "'\\''") + "'"
    }

    /// The word without control characters, which a terminal would obey.
    private static func escaped(_ word: String) -> String {
        var text = ""
        for scalar in word.unicodeScalars {
            switch scalar {
            case "'", "\\": text += "\\" + String(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 8)
                text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return "$'\(text)'"
    }
}
