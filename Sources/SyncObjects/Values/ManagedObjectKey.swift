import Foundation
import SyncCore

/// The key of a row: what identifies it in its table.
public enum ManagedObjectKey: Sendable, Hashable {
    /// An integer key: of every table that syncd makes, and of most others.
    case integer(Int64)
    /// A text key.
    case text(String)
    /// The columns of any other key, in key order.
    case values([Value])
    /// An object that has no row yet, in a table whose key comes with its first save.
    case temporary(Int64)

    /// The key of a row, from its key columns.
    init(_ values: [Value]) {
        switch values.first {
        case .integer(let number)? where values.count == 1: self = .integer(number)
        case .text(let text)? where values.count == 1: self = .text(text)
        default: self = .values(values)
        }
    }

    /// The key's columns. A temporary key is replaced by a number that no table holds.
    var values: [Value] {
        switch self {
        case .integer(let number): return [.integer(number)]
        case .text(let text): return [.text(text)]
        case .values(let values): return values
        case .temporary(let number): return [.integer(Self.temporaryBase + number)]
        }
    }

    /// The value that a reference column holds for this key; nil for composite keys.
    var reference: Value? {
        let values = values
        return values.count == 1 ? values[0] : nil
    }

    /// The key that a reference column names; nil for NULL.
    init?(reference: Value) {
        switch reference {
        case .null: return nil
        case .integer(let number) where number < Self.temporaryBase + Self.temporaryCount:
            self = .temporary(number - Self.temporaryBase)
        default: self.init([reference])
        }
    }

    /// In memory, integers from here on represent temporary keys: the lowest 2^40 of 2^64, which
    /// SQLite never assigns.
    static let temporaryBase = Int64.min
    static let temporaryCount: Int64 = 1 << 40

    /// True for an object without a row in a table whose key comes with its first save.
    public var isTemporary: Bool {
        if case .temporary = self { return true }
        return false
    }
}

extension ManagedObjectKey: CustomStringConvertible {
    /// The key as text; the columns of a composite key are joined by commas.
    public var description: String {
        switch self {
        case .integer(let number): return String(number)
        case .text(let text): return text
        case .values(let values): return values.map(\.description).joined(separator: ",")
        case .temporary(let number): return "t\(number)"
        }
    }
}

extension ManagedObjectKey {
    /// The key in the path of a URI: a letter for the kind, then percent escapes.
    var pathComponent: String {
        switch self {
        case .integer(let number): return "i\(number)"
        case .text(let text): return "s" + Self.escape(text)
        case .values(let values): return "v" + values.map(Self.encode).joined(separator: ",")
        case .temporary(let number): return "t\(number)"
        }
    }

    init?(pathComponent text: Substring) {
        let rest = text.dropFirst()
        switch text.first {
        case "i":
            guard let number = Int64(rest) else { return nil }
            self = .integer(number)
        case "t":
            guard let number = Int64(rest) else { return nil }
            self = .temporary(number)
        case "s":
            guard let text = rest.removingPercentEncoding else { return nil }
            self = .text(text)
        case "v":
            var values: [Value] = []
            for part in rest.split(separator: ",", omittingEmptySubsequences: false) {
                guard let value = Self.decode(part) else { return nil }
                values.append(value)
            }
            self = .values(values)
        default: return nil
        }
    }

    private static func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func encode(_ value: Value) -> String {
        switch value {
        case .null: return "n"
        case .integer(let number): return "i\(number)"
        case .real(let number): return "r\(number.bitPattern)"
        case .text(let text): return "s" + escape(text)
        case .blob(let bytes):
            return "b" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    private static func decode(_ text: Substring) -> Value? {
        let rest = text.dropFirst()
        switch text.first {
        case "n": return .null
        case "i": return Int64(rest).map(Value.integer)
        case "r": return UInt64(rest).map { .real(Double(bitPattern: $0)) }
        case "s": return rest.removingPercentEncoding.map(Value.text)
        case "b":
            let digits = Array(rest)
            guard digits.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else {
                    return nil
                }
                bytes.append(byte)
            }
            return .blob(bytes)
        default: return nil
        }
    }
}
