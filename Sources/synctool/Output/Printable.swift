/// Text from a database, made safe for a terminal.
enum Printable {
    /// Control characters become `\n`, `\t` or `\u{…}`: a value cannot control the terminal. Bytes
    /// that are not UTF-8 become `\x80`.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where scalar.notTextByte != nil:
                result += "\\x" + String(scalar.notTextByte ?? 0, radix: 16)
            case _ where isControl(scalar):
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Encoded JSON, with escapes for characters that control a terminal and that JSON allows as
    /// they are: DEL, U+0080 to U+009F, and those that change the direction. It means the same.
    static func json(_ text: String) -> String {
        // The first bytes of their encodings: what most texts have none of.
        let leads: [UInt8] = [0x7F, 0xC2, 0xD8, 0xE2]
        guard text.utf8.contains(where: leads.contains) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar != "\n", scalar != "\r", isControl(scalar), scalar.notTextByte == nil {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The same of lines, without a change of tabs and of some codes that the program itself wrote.
    static func shown(_ text: String, keeping codes: [String]) -> String {
        let isPlain = !text.unicodeScalars.contains { isControl($0) && $0 != "\n" && $0 != "\t" }
        if isPlain { return text }
        var result = ""
        var rest = Substring(text)
        while let scalar = rest.unicodeScalars.first {
            let scalars = rest.unicodeScalars
            if let code = codes.first(where: { scalars.starts(with: $0.unicodeScalars) }) {
                result += code
                rest.unicodeScalars.removeFirst(code.unicodeScalars.count)
                continue
            }
            result += scalar == "\n" || scalar == "\t" ? String(scalar) : self.text(String(scalar))
            rest.unicodeScalars.removeFirst()
        }
        return result
    }

    /// The same of each line of a text.
    static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.text(String($0)) }
            .joined(separator: "\n")
    }

    /// The same, cut to `width` characters.
    static func text(_ text: String, width: Int) -> String {
        let cut = text.count > width ? text.prefix(width - 1) + "…" : Substring(text)
        return Self.text(String(cut))
    }

    /// The path of an object, cut where it is too long for a line: JSON has it whole.
    static func object(_ path: String) -> String { text(path, width: objectWidth) }

    private static let objectWidth = 200

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
            || scalar.notTextByte != nil
    }
}
