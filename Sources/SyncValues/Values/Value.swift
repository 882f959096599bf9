import Foundation

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

extension Value {
    /// Equal storage classes and equal bytes. Swift's own equality of strings takes composed and
    /// decomposed letters for equal: to SQLite they are two keys.
    @inlinable public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.integer(let left), .integer(let right)): return left == right
        case (.real(let left), .real(let right)): return left == right
        case (.text(let left), .text(let right)): return left.hasBytes(of: right)
        case (.blob(let left), .blob(let right)): return left == right
        default: return false
        }
    }

    /// Hashes the bytes.
    @inlinable public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(var text):
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(text.utf8.count)
        case .blob(let bytes): hasher.combine(bytes)
        }
    }
}

extension String {
    /// The same bytes: compared as memory, which they nearly always are.
    @usableFromInline package func hasBytes(of other: String) -> Bool {
        let isSame = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count else { return false }
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return true
                }
                return memcmp(left, right, other.utf8.count) == 0
            }
        }
        return isSame.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }
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
    /// The value as an SQL expression that gives it: as `quote()` prints it, but for text with
    /// U+0000, which no literal can have.
    public var description: String {
        switch self {
        case .null: return "NULL"
        case .integer(let value): return String(value)
        case .real(let value):
            return value.isInfinite ? (value < 0 ? "-9.0e+999" : "9.0e+999") : String(value)
        case .text(let value):
            let parts = value.utf8.split(separator: 0, omittingEmptySubsequences: false)
                .map { Self.literal($0) }
            return parts.count == 1 ? parts[0] : "(" + parts.joined(separator: "||char(0)||") + ")"
        case .blob(let bytes): return "X'" + Hex.encode(bytes, uppercase: true) + "'"
        }
    }

    /// Quotes are doubled byte by byte: one with a combining mark behind it is another Character.
    private static func literal(_ text: Substring.UTF8View) -> String {
        let quote = UInt8(ascii: "'")
        var bytes = [quote]
        for byte in text {
            if byte == quote { bytes.append(quote) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [quote], as: UTF8.self)
    }
}
