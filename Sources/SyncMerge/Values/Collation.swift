import SyncValues

/// How SQLite compares text, and with it what counts as the same UNIQUE value.
package enum Collation: Sendable, Hashable {
    /// By bytes.
    case binary
    /// ASCII letters without case.
    case nocase
    /// By bytes, without spaces at the end.
    case rtrim

    /// The name that SQL has for it.
    package var name: String {
        switch self {
        case .binary: return "BINARY"
        case .nocase: return "NOCASE"
        case .rtrim: return "RTRIM"
        }
    }

    /// The collation of that name; nil for one that an application defines.
    package init?(_ name: String) {
        switch Self.lowercased(name) {
        case "binary": self = .binary
        case "nocase": self = .nocase
        case "rtrim": self = .rtrim
        default: return nil
        }
    }

    /// One form for all values that SQLite calls equal: numbers by value, text by the collation.
    package func folded(_ value: Value) -> Value {
        switch (self, value) {
        case (_, .real(let number)):
            return Int64(exactly: number).map(Value.integer) ?? value
        case (.nocase, .text(let text)): return .text(Self.lowercased(text))
        case (.rtrim, .text(let text)):
            let end = text.utf8.lastIndex { $0 != 32 }.map { text.utf8.index(after: $0) }
            return .text(String(text[..<(end ?? text.startIndex)]))
        default: return value
        }
    }

    /// Another spelling of a text: in upper or lower case, or without spaces at the end; the same
    /// value where there is none.
    func respelled(_ value: Value, isUpper: Bool) -> Value {
        guard case .text(let text) = value else { return value }
        guard isUpper, self == .nocase else { return folded(value) }
        return .text(
            String(decoding: text.utf8.map { 97...122 ~= $0 ? $0 - 32 : $0 }, as: UTF8.self))
    }

    /// ASCII letters in lower case, everything else as it is: what SQLite's NOCASE compares.
    package static func lowercased(_ text: String) -> String {
        String(decoding: text.utf8.map { 65...90 ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
    }
}
