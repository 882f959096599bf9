import Foundation
import SyncCore

/// A Swift type that an attribute can be read as.
///
/// Conform your own types by converting through one of these: a `RawRepresentable` type with such a
/// raw value needs nothing but the conformance.
public protocol AttributeConvertible: Sendable {
    /// The value of what the store holds; nil when it is of another type.
    init?(stored value: Value, _ coding: AttributeCoding)
    /// What ``AttributeCoding/encode(_:)`` is given for this value.
    var attributeValue: any Sendable { get }
    /// The stored form of this value, where the type alone decides it; nil where
    /// ``AttributeCoding/encode(_:)`` has to check it, and may refuse it.
    func plainlyStored(_ coding: AttributeCoding) -> Value?
}

extension AttributeConvertible {
    /// Nil: the coding checks the value.
    public func plainlyStored(_: AttributeCoding) -> Value? { nil }

    /// What the coding of the attribute is given for this value.
    public var attributeValue: any Sendable { self }
}

extension RawRepresentable where Self: AttributeConvertible, RawValue: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard let raw = RawValue(stored: value, coding) else { return nil }
        self.init(rawValue: raw)
    }

    /// What the coding of the attribute is given for this value.
    public var attributeValue: any Sendable { rawValue.attributeValue }
}

extension FixedWidthInteger where Self: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        switch value {
        case .integer(let number): self.init(exactly: number)
        case .real(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension FixedWidthInteger where Self: SignedInteger & AttributeConvertible {
    /// An integer attribute that has room for the number.
    public func plainlyStored(_ coding: AttributeCoding) -> Value? {
        let number = Int64(truncatingIfNeeded: self)
        switch coding.type {
        case .integer64: return .integer(number)
        case .integer32: return Int32(exactly: number).map { .integer(Int64($0)) }
        case .integer16: return Int16(exactly: number).map { .integer(Int64($0)) }
        default: return nil
        }
    }
}

extension Int: AttributeConvertible {}
extension Int16: AttributeConvertible {}
extension Int32: AttributeConvertible {}
extension Int64: AttributeConvertible {}

extension Double: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        switch value {
        case .integer(let number): self = Double(number)
        case .real(let number): self = number
        default: return nil
        }
    }

    /// A double attribute. NaN is left to be refused.
    public func plainlyStored(_ coding: AttributeCoding) -> Value? {
        coding.type == .double && !isNaN ? .real(self) : nil
    }
}

extension Float: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard let number = Double(stored: value, coding) else { return nil }
        self = Float(number)
    }
}

extension Decimal: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        switch value {
        case .integer(let number): self = Decimal(number)
        case .real(let number):
            guard let number = Decimal(string: "\(number)") else { return nil }
            self = number
        case .text(let text):
            guard let number = Decimal(string: text) else { return nil }
            self = number
        default: return nil
        }
    }
}

extension String: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard case .text(let text) = value else { return nil }
        self = text
    }

    /// A string attribute.
    public func plainlyStored(_ coding: AttributeCoding) -> Value? {
        coding.type == .string ? .text(self) : nil
    }
}

extension Bool: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard case .integer(let number) = value else { return nil }
        self = number != 0
    }

    /// A boolean attribute.
    public func plainlyStored(_ coding: AttributeCoding) -> Value? {
        coding.type == .boolean ? .integer(self ? 1 : 0) : nil
    }
}

extension Date: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard let date = DateCoding.decode(value, as: coding.dates) else { return nil }
        self = date
    }

    /// A date attribute.
    public func plainlyStored(_ coding: AttributeCoding) -> Value? {
        coding.type == .date ? DateCoding.encode(self, as: coding.dates) : nil
    }
}

extension Data: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard case .blob(let bytes) = value else { return nil }
        self = Data(bytes)
    }
}

extension UUID: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        switch value {
        case .text(let text): self.init(uuidString: text)
        case .blob(let bytes) where bytes.count == 16:
            self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        default: return nil
        }
    }
}

extension URL: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard case .text(let text) = value else { return nil }
        self.init(string: text)
    }
}

extension ManagedObjectID: AttributeConvertible {
    /// Reads a stored value; nil when it is of another type.
    public init?(stored value: Value, _ coding: AttributeCoding) {
        guard case .text(let text) = value, let url = URL(string: text) else { return nil }
        self.init(uri: url)
    }
}
