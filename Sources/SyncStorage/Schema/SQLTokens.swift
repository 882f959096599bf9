/// The tokens of an SQL text, as far as taking a CREATE statement apart needs it: where quoted
/// text, comments and brackets begin and end. Positions are byte offsets.
package struct SQLTokens {
    /// One token; comments and white space are left out.
    package struct Token: Equatable {
        package var text: String
        /// Byte offsets in the text.
        package var range: Range<Int>
        /// How many parentheses are open before it.
        package var depth: Int

        package func isWord(_ word: String) -> Bool { SQLName.isEqual(text, to: word) }
    }

    package let bytes: [UInt8]
    package private(set) var tokens: [Token] = []

    package init(_ sql: String) {
        bytes = Array(sql.utf8)
        var depth = 0
        var index = 0
        while index < bytes.count {
            let end = endOfToken(at: index)
            if !isBlank(index) {
                let text = String(decoding: bytes[index..<end], as: UTF8.self)
                if text == ")" { depth -= 1 }
                tokens.append(Token(text: text, range: index..<end, depth: depth))
                if text == "(" { depth += 1 }
            }
            index = end
        }
    }

    /// The text from the start of one token to the start of another (or the end), as written,
    /// without the white space around it.
    package func text(_ range: Range<Int>) -> String {
        guard !range.isEmpty else { return "" }
        let first = tokens[range.lowerBound].range.lowerBound
        let last = tokens[range.upperBound - 1].range.upperBound
        return String(decoding: bytes[first..<last], as: UTF8.self)
    }

    /// The index of the parenthesis that closes the one at `open`; nil when none does.
    package func close(of open: Int) -> Int? {
        tokens.indices.first {
            $0 > open && tokens[$0].text == ")" && tokens[$0].depth == tokens[open].depth
        }
    }

    /// The ranges of tokens between `open` and `close`, cut at commas of the level just inside.
    package func items(between open: Int, and close: Int) -> [Range<Int>] {
        var items: [Range<Int>] = []
        var start = open + 1
        for index in (open + 1)..<close
        where tokens[index].text == "," && tokens[index].depth == tokens[open].depth + 1 {
            items.append(start..<index)
            start = index + 1
        }
        items.append(start..<close)
        return items
    }

    // MARK: Cutting

    private func isBlank(_ index: Int) -> Bool {
        let byte = bytes[index]
        if byte == 32 || (9...13).contains(byte) { return true }
        return starts(with: "--", at: index) || starts(with: "/*", at: index)
    }

    private func starts(with text: StaticString, at index: Int) -> Bool {
        index + 1 < bytes.count && bytes[index] == text.utf8Start[0]
            && bytes[index + 1] == text.utf8Start[1]
    }

    private func endOfToken(at start: Int) -> Int {
        switch bytes[start] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
            return endOfQuoted(start, by: bytes[start])
        case UInt8(ascii: "["):
            return endOfQuoted(start, by: UInt8(ascii: "]"))
        default: break
        }
        if starts(with: "--", at: start) {
            return bytes[start...].firstIndex(of: 10).map { $0 + 1 } ?? bytes.count
        }
        if starts(with: "/*", at: start) {
            var index = start + 2
            while index < bytes.count, !starts(with: "*/", at: index) { index += 1 }
            return min(index + 2, bytes.count)
        }
        var index = start
        while index < bytes.count, isWordByte(bytes[index]) { index += 1 }
        return max(index, start + 1)
    }

    /// A doubled quote is one quote of the text; brackets have no such rule.
    private func endOfQuoted(_ start: Int, by quote: UInt8) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == quote {
                let doubled = index + 1 < bytes.count && bytes[index + 1] == quote
                if quote == UInt8(ascii: "]") || !doubled { return index + 1 }
                index += 1
            }
            index += 1
        }
        return bytes.count
    }

    private func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 128...255:
            return true
        default: return false
        }
    }
}
