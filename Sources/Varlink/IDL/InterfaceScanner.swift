/// Splits a definition into words and signs, and collects the comments between them.
///
/// Invariant: `position` only grows. `comments` holds the comments since ``takeComments()``.
struct InterfaceScanner {
    private let scalars: [Unicode.Scalar]
    private(set) var position = 0
    private var comments: [String] = []

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    /// The comment lines since the last call.
    mutating func takeComments() -> [String] {
        defer { comments = [] }
        return comments
    }

    /// Skips white space and comments; true at the end of the text.
    mutating func atEnd() -> Bool {
        skip()
        return position == scalars.count
    }

    /// Takes `sign` if it is next.
    mutating func take(_ sign: String) -> Bool {
        skip()
        let sign = sign.unicodeScalars
        guard scalars[position...].starts(with: sign) else { return false }
        position += sign.count
        return true
    }

    /// Takes the next word (letters, digits, `_`, and if `isInterface` also `-` and `.`); empty
    /// when something else is next.
    mutating func word(isInterface: Bool = false) -> String {
        skip()
        let start = position
        while position < scalars.count {
            let scalar = scalars[position]
            guard Self.isWord(scalar) || isInterface && (scalar == "." || scalar == "-") else {
                break
            }
            position += 1
        }
        var word = String.UnicodeScalarView()
        word.append(contentsOf: scalars[start..<position])
        return String(word)
    }

    /// An error at `position`, by default the current one.
    func error(_ reason: String, at position: Int? = nil) -> InterfaceError {
        var line = 1
        var column = 1
        var previous: Unicode.Scalar?
        for scalar in scalars[..<(position ?? self.position)] {
            if scalar == "\n", previous == "\r" {
                // The second half of one line end.
            } else if Self.isLineEnd(scalar) {
                line += 1
                column = 1
            } else {
                column += 1
            }
            previous = scalar
        }
        return InterfaceError(reason, line: line, column: column)
    }

    private mutating func skip() {
        while position < scalars.count {
            let scalar = scalars[position]
            if scalar == "#" {
                comment()
            } else if Self.isSpace(scalar) || Self.isLineEnd(scalar) {
                position += 1
            } else {
                return
            }
        }
    }

    private mutating func comment() {
        position += 1
        if position < scalars.count, scalars[position] == " " { position += 1 }
        var line = String.UnicodeScalarView()
        while position < scalars.count, !Self.isLineEnd(scalars[position]) {
            line.append(scalars[position])
            position += 1
        }
        comments.append(String(line))
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: false
        }
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\r", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    /// The white space of the grammar: ECMA-262 without vertical tab and form feed.
    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "\t", "\u{A0}", "\u{FEFF}", "\u{1680}", "\u{180E}", "\u{2000}"..."\u{200A}",
            "\u{202F}", "\u{205F}", "\u{3000}":
            true
        default: false
        }
    }
}
