/// One SQLite value with its storage class. Comparison is exact: `1` and `1.0` differ, text
/// compares by its bytes, as the capture triggers do.
public enum Value: Sendable, Hashable {
    /// SQL NULL.
    case null
    /// A 64-bit signed integer.
    case integer(Int64)
    /// An IEEE double. Never NaN: SQLite stores NaN as NULL.
    case real(Double)
    /// UTF-8 text.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

extension Value: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral
{
    /// NULL.
    public init(nilLiteral: ()) { self = .null }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A real.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Text.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension Value: CustomStringConvertible {
    /// The value as an SQL literal, as `quote()` would print it.
    public var description: String {
        switch self {
        case .null: return "NULL"
        case .integer(let value): return String(value)
        case .real(let value): return String(value)
        case .text(let value):
            return "'"
                + value.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "''") + "'"
        case .blob(let bytes): return "X'" + Hex.encode(bytes, uppercase: true) + "'"
        }
    }
}
