import Foundation
import SyncCore

/// How the values of one attribute are stored.
public struct AttributeCoding: Sendable, Hashable {
    /// What the attribute holds.
    public var type: AttributeType
    /// How its dates are stored.
    public var dates: DateStorage

    /// A coding of `type`.
    public init(_ type: AttributeType, dates: DateStorage = .text) {
        self.type = type
        self.dates = dates
    }

    /// The stored value of `value`: the one form in which it is compared, kept and saved, so that
    /// what an object answers before a save is what it answers after.
    ///
    /// - Throws: ``ObjectError/Code/typeMismatch`` for a value of another type or out of range.
    public func encode(_ value: Any?) throws -> Value {
        guard let value else { return .null }
        if let value = encoded(value) { return value }
        guard let value = Self.unwrap(value) else { return .null }
        throw ObjectError(
            .typeMismatch, "expected \(type.rawValue), found \(Swift.type(of: value)) “\(value)”")
    }

    /// The Swift value of a stored one; nil for NULL and for what is not of the attribute's type.
    public func decode(_ value: Value) -> (any Sendable)? {
        switch type {
        case .integer16: return Int16(stored: value, self)
        case .integer32: return Int32(stored: value, self)
        case .integer64: return Int64(stored: value, self)
        case .float: return Float(stored: value, self)
        case .double: return Double(stored: value, self)
        case .decimal: return Decimal(stored: value, self)
        case .string: return String(stored: value, self)
        case .boolean: return Bool(stored: value, self)
        case .date: return Date(stored: value, self)
        case .binary, .transformable: return Data(stored: value, self)
        case .uuid: return UUID(stored: value, self)
        case .uri: return URL(stored: value, self)
        case .objectID: return ManagedObjectID(stored: value, self)
        case .any: return Self.natural(value)
        }
    }

    private func encoded(_ value: Any) -> Value? {
        switch type {
        case .integer16: return Self.integer(value, in: Int64(Int16.min)...Int64(Int16.max))
        case .integer32: return Self.integer(value, in: Int64(Int32.min)...Int64(Int32.max))
        case .integer64: return Self.integer(value, in: Int64.min...Int64.max)
        case .float: return Self.real(value).map { .real(Double(Float($0))) }
        case .double: return Self.real(value).map(Value.real)
        case .decimal: return Self.decimal(value).map { .text("\($0)") }
        case .string:
            if let text = value as? String { return .text(text) }
            return (value as? any StringProtocol).map { .text(String($0)) }
        case .boolean:
            if let flag = value as? Bool { return .integer(flag ? 1 : 0) }
            return Self.integer(value, in: 0...1)
        case .date: return (value as? Date).map { DateCoding.encode($0, as: dates) }
        case .binary, .transformable:
            if let bytes = value as? [UInt8] { return .blob(bytes) }
            return (value as? Data).map { .blob([UInt8]($0)) }
        case .uuid:
            if let text = value as? String { return UUID(uuidString: text).map(Self.text) }
            return (value as? UUID).map(Self.text)
        case .uri:
            if let text = value as? String { return .text(text) }
            return (value as? URL).map { .text($0.absoluteString) }
        case .objectID:
            return (value as? ManagedObjectID).map { .text($0.uriRepresentation.absoluteString) }
        case .any: return anything(value)
        }
    }

    private func anything(_ value: Any) -> Value? {
        switch value {
        case let value as Value: return value
        case let flag as Bool: return .integer(flag ? 1 : 0)
        case let date as Date: return DateCoding.encode(date, as: dates)
        case let uuid as UUID: return Self.text(uuid)
        case let url as URL: return .text(url.absoluteString)
        case let data as Data: return .blob([UInt8](data))
        case let bytes as [UInt8]: return .blob(bytes)
        case let text as any StringProtocol: return .text(String(text))
        default:
            return Self.integer(value, in: Int64.min...Int64.max)
                ?? Self.real(value).map(Value.real)
        }
    }

    private static func text(_ uuid: UUID) -> Value { .text(uuid.uuidString) }

    private static func natural(_ value: Value) -> (any Sendable)? {
        switch value {
        case .null: return nil
        case .integer(let number): return number
        case .real(let number): return number
        case .text(let text): return text
        case .blob(let bytes): return Data(bytes)
        }
    }

    private static func integer(_ value: Any, in range: ClosedRange<Int64>) -> Value? {
        guard let number = int64(value), range.contains(number) else { return nil }
        return .integer(number)
    }

    /// The types that attributes are read as first: to ask for a protocol costs ten times as much.
    private static func int64(_ value: Any) -> Int64? {
        if let number = value as? Int { return Int64(number) }
        if let number = value as? Int64 { return number }
        if let number = value as? Int32 { return Int64(number) }
        if let number = value as? Int16 { return Int64(number) }
        if value is Bool { return nil }
        return (value as? any BinaryInteger).flatMap { Int64(exactly: $0) }
    }

    /// NaN has no place in SQLite, which would store NULL: refused.
    private static func real(_ value: Any) -> Double? {
        if let number = value as? Double { return number.isNaN ? nil : number }
        if value is Bool { return nil }
        if let number = value as? any BinaryFloatingPoint {
            let number = Double(number)
            return number.isNaN ? nil : number
        }
        if let number = value as? Decimal { return NSDecimalNumber(decimal: number).doubleValue }
        return (value as? any BinaryInteger).map { Double($0) }
    }

    private static func decimal(_ value: Any) -> Decimal? {
        if let number = value as? Decimal { return number.isNaN ? nil : number }
        if value is Bool { return nil }
        if let number = (value as? any BinaryInteger).flatMap({ Int64(exactly: $0) }) {
            return Decimal(number)
        }
        return (value as? Double).flatMap { $0.isNaN ? nil : Decimal(string: "\($0)") }
    }

    /// What is inside of an optional that hides in an `Any`; nil when nothing is.
    static func unwrap(_ value: Any) -> Any? {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.erased.flatMap(unwrap)
    }
}

private protocol OptionalValue {
    var erased: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var erased: Any? { map { $0 } }
}
