import Foundation

/// A value in a predicate, before it is known which attribute it is compared with.
public indirect enum PredicateConstant: Sendable, Hashable {
    /// No value.
    case null
    /// True or false.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating point number.
    case real(Double)
    /// An exact decimal number.
    case decimal(Decimal)
    /// Text.
    case text(String)
    /// A point in time.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// A UUID.
    case uuid(UUID)
    /// A URI.
    case uri(URL)
    /// An object.
    case object(ManagedObjectID)
    /// Several values.
    case list([PredicateConstant])

    /// The constant for a Swift value: one of the types above, an object, or a sequence of them.
    ///
    /// - Throws: ``ObjectError/Code/invalidPredicate`` for a value of any other type.
    public init(_ value: Any?) throws {
        guard let value, let value = AttributeCoding.unwrap(value) else {
            self = .null
            return
        }
        switch value {
        case let value as PredicateConstant: self = value
        case let value as Bool: self = .boolean(value)
        case let value as ManagedObjectID: self = .object(value)
        case let value as any IdentifiedObject: self = .object(value.objectID)
        case let value as any StringProtocol: self = .text(String(value))
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(value)
        case let value as UUID: self = .uuid(value)
        case let value as URL: self = .uri(value)
        case let value as Decimal: self = .decimal(value)
        case let value as any BinaryInteger:
            guard let number = Int64(exactly: value) else {
                throw ObjectError(
                    .invalidPredicate, "\(value) does not fit into a signed 64-bit integer"
                )
            }
            self = .integer(number)
        case let value as any BinaryFloatingPoint: self = .real(Double(value))
        case let value as any Sequence: self = .list(try value.map { try PredicateConstant($0) })
        case let value as any AttributeConvertible:
            let inner = value.attributeValue
            guard type(of: inner) != type(of: value) else { throw Self.problem(value) }
            self = try PredicateConstant(inner)
        default: throw Self.problem(value)
        }
    }

    private static func problem(_ value: Any) -> ObjectError {
        ObjectError(
            .invalidPredicate, "a predicate cannot hold a value of type \(type(of: value))")
    }

    /// What ``AttributeCoding/encode(_:)`` is given.
    var swiftValue: Any? {
        switch self {
        case .null, .list: return nil
        case .boolean(let value): return value
        case .integer(let value): return value
        case .real(let value): return value
        case .decimal(let value): return value
        case .text(let value): return value
        case .date(let value): return value
        case .data(let value): return value
        case .uuid(let value): return value
        case .uri(let value): return value
        case .object(let value): return value
        }
    }
}
