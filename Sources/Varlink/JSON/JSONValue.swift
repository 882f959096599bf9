/// A JSON value. Integers stay integers, and members keep their order.
///
/// ```swift
/// let value: JSONValue = ["entity": "Album", "number": 7, "tombstone": nil]
/// value["number"]?.integer  // 7
/// ```
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number written without fraction or exponent that fits 64 bits.
    case integer(Int64)
    /// Every other number. Never infinite, never NaN when it comes from the parser.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    /// True or false; nil when this is another kind of value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer, or nil when this is another kind of value (a double is one, even 1.0).
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The number as a double, written with or without a fraction, or nil when this is not a
    /// number.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The string, or nil when this is another kind of value.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, or nil when this is not an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The object, or nil when this is another kind of value.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Whether this is JSON's `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The member `name` of an object; nil when it is missing or this is not an object.
    ///
    /// - Complexity: O(members).
    public subscript(name: String) -> JSONValue? {
        object?[name]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }

    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// A double.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object; members keep the order of the literal.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON text.
    public var description: String {
        var writer = JSONWriter()
        writer.write(self)
        return writer.text
    }
}
