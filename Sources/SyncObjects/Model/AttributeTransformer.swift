import Foundation

/// Encodes values of any type as bytes, for transformable attributes.
public struct AttributeTransformer: Sendable {
    /// The name, which is part of the entity's version hash.
    public let name: String
    let encode: @Sendable (Any) throws -> Data
    let decode: @Sendable (Data) throws -> any Sendable

    /// Makes a transformer from an encoder and a decoder.
    public init<Value: Sendable>(
        name: String, encode: @escaping @Sendable (Value) throws -> Data,
        decode: @escaping @Sendable (Data) throws -> Value
    ) {
        self.name = name
        self.encode = { value in
            guard let value = value as? Value else {
                throw ObjectError(
                    .typeMismatch, "expected \(Value.self), found \(type(of: value))")
            }
            return try encode(value)
        }
        self.decode = { try decode($0) }
    }

    /// JSON of any codable type. Equal values give equal bytes: keys are sorted.
    public static func json<Value: Codable & Sendable>(_ type: Value.Type) -> Self {
        Self(
            name: "json:\(type)",
            encode: { (value: Value) in
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys]
                return try encoder.encode(value)
            },
            decode: { try JSONDecoder().decode(type, from: $0) })
    }
}
