/// `%`-escapes for names and key parts in object identifiers: what would end a part is escaped,
/// everything readable stays readable. Bytes that are not text are escaped, too.
enum PercentEscape {
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7f, UInt8(ascii: "%"), UInt8(ascii: "/"), UInt8(ascii: ","),
            UInt8(ascii: "#"), UInt8(ascii: "?"):
            return false
        default: return true
        }
    }

    static func encode(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ isPlain($0) && $0 < 0xf4 }) else { return text }
        var result: [UInt8] = []
        func escape(_ byte: UInt8) {
            result.append(UInt8(ascii: "%"))
            result.append(contentsOf: Hex.encode([byte], uppercase: true).utf8)
        }
        for scalar in text.unicodeScalars {
            if let byte = scalar.notTextByte {
                escape(byte)
            } else {
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    if isPlain(byte) { result.append(byte) } else { escape(byte) }
                }
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The text behind the escapes, or nil when one is cut short. Bytes that are not UTF-8 stay as
    /// they are.
    static func decode(_ text: some StringProtocol) -> String? {
        let source = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < source.count {
            guard source[index] == UInt8(ascii: "%") else {
                result.append(source[index])
                index += 1
                continue
            }
            guard index + 2 < source.count,
                let byte = Hex.decode(
                    String(decoding: source[index + 1...index + 2], as: UTF8.self))
            else { return nil }
            result += byte
            index += 3
        }
        return String(textBytes: result)
    }
}
