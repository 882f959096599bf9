import SyncCore
import Varlink

/// Values of a database as JSON: each one is read back as it was.
///
/// NULL, text, reals and integers that every reader holds exactly (up to 2^53) are themselves;
/// blobs are `{"blob":"BASE64"}`, larger integers `{"int":"DIGITS"}`, infinite reals
/// `{"real":"inf"}`. A real always has a point or an exponent (`1.0`), so that it differs from an
/// integer. In place of a value that is too large for a message stands `{"ref":{…}}`
/// (``ValueReference``).
extension JSONWriter {
    /// Larger integers lose digits in readers that know doubles only.
    static let exactIntegerMax: Int64 = 1 << 53

    /// Writes a value of the database.
    public mutating func write(_ value: Value) {
        switch value {
        case .null: writeNull()
        case .text(let text): write(string: text)
        case .integer(let integer):
            if integer.magnitude <= UInt64(Self.exactIntegerMax) {
                write(integer: integer)
            } else {
                write(tag: "int", text: String(integer))
            }
        case .real(let real):
            if real.isFinite {
                write(double: real)
            } else {
                write(tag: "real", text: real < 0 ? "-inf" : "inf")
            }
        case .blob(let bytes): write(tag: "blob", text: Base64.encode(bytes))
        }
    }

    /// Writes where a value is to be fetched.
    mutating func write(_ reference: ValueReference) {
        beginObject()
        name("ref")
        beginObject()
        name("transaction")
        write(integer: reference.transaction)
        name("change")
        write(integer: reference.change)
        member("property", text: reference.property)
        member("kind", text: reference.kind.rawValue)
        name("size")
        write(integer: Int64(reference.bytes))
        endObject()
        endObject()
    }

    private mutating func write(tag: String, text: String) {
        beginObject()
        name(tag)
        write(string: text)
        endObject()
    }
}

extension Value {
    /// Reads what `JSONWriter` wrote.
    ///
    /// - Throws: ``SyncError`` with code `badData`.
    public init(json: JSONValue) throws {
        switch json {
        case .null: self = .null
        case .string(let text): self = .text(text)
        case .integer(let integer): self = .integer(integer)
        case .double(let real): self = .real(real)
        case .object(let object):
            guard object.count == 1, let member = object.members.first,
                let value = Self.tagged(member.name, text: member.value.string)
            else { throw SyncError(.badData, "'\(json)' is not a value of a database") }
            self = value
        case .bool, .array: throw SyncError(.badData, "'\(json)' is not a value of a database")
        }
    }

    private static func tagged(_ tag: String, text: String?) -> Value? {
        guard let text else { return nil }
        switch tag {
        case "int": return Int64(text).map(Value.integer)
        case "blob": return Base64.decode(text).map(Value.blob)
        case "real":
            return text == "inf" ? .real(.infinity) : text == "-inf" ? .real(-.infinity) : nil
        default: return nil
        }
    }
}

extension ValueReference {
    /// The parameters of `GetValue` that name the value.
    var jsonObject: JSONObject {
        [
            "transaction": .integer(transaction), "change": .integer(change),
            "property": .string(property),
        ]
    }

    /// Reads what `JSONWriter` wrote; nil for a value that is no reference.
    ///
    /// - Throws: ``SyncError`` with code `badData`.
    init?(json: JSONValue) throws {
        guard let object = json.object, object.count == 1, let reference = object["ref"] else {
            return nil
        }
        let reader = try JSONReader(reference, of: "a reference to a value")
        self.init(
            transaction: try reader.integer("transaction"), change: try reader.integer("change"),
            property: try reader.string("property"),
            kind: try reader.require("kind", as: Kind(rawValue: try reader.string("kind"))),
            bytes: Int(try reader.integer("size")))
    }
}
