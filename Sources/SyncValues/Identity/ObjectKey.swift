/// The key of an object: the values of its primary key, in key order.
///
/// As text, parts are separated by commas: integers as digits, text as it is with `%`-escapes for
/// what would be mistaken; `s:` before text that reads like a number or a prefix, `x:` before
/// the hexadecimal digits of a blob, `r:` before a real, `n:` for NULL (which SQLite lets into keys
/// that are not INTEGER PRIMARY KEY).
public struct ObjectKey: Sendable, Hashable {
    /// One value per key column; at least one.
    public let values: [Value]

    /// Makes a key of several columns.
    public init(_ values: [Value]) {
        precondition(!values.isEmpty, "a key has at least one column")
        self.values = values
    }

    /// Makes a key of one column.
    public init(_ value: Value) { self.init([value]) }
}

extension ObjectKey: CustomStringConvertible {
    /// The key as text; ``init(text:)`` reads it back.
    public var description: String {
        if values.count == 1, case .integer(let value) = values[0] { return String(value) }
        return values.map(Self.text(of:)).joined(separator: ",")
    }

    /// Reads what ``description`` wrote; nil for anything else.
    public init?(text: some StringProtocol) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        var values: [Value] = []
        for part in parts {
            guard let value = Self.value(of: Substring(part)) else { return nil }
            values.append(value)
        }
        self.init(values)
    }

    private static func text(of value: Value) -> String {
        switch value {
        case .null: return "n:"
        case .integer(let value): return String(value)
        case .real(let value): return "r:" + String(value)
        case .blob(let bytes): return "x:" + Hex.encode(bytes)
        case .text(let value):
            let escaped = PercentEscape.encode(value)
            return needsPrefix(escaped) ? "s:" + escaped : escaped
        }
    }

    private static func needsPrefix(_ text: String) -> Bool {
        Int64(text) != nil || text.dropFirst().first == ":"
    }

    private static func value(of part: Substring) -> Value? {
        guard part.dropFirst().first == ":" else {
            if let value = Int64(part) { return .integer(value) }
            return PercentEscape.decode(part).map(Value.text)
        }
        let payload = part.dropFirst(2)
        switch part.first {
        case "n": return payload.isEmpty ? .null : nil
        case "r": return Double(payload).map(Value.real)
        case "x": return Hex.decode(payload).map(Value.blob)
        case "s": return PercentEscape.decode(payload).map(Value.text)
        default: return nil
        }
    }
}
