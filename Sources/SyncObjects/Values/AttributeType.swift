/// What an attribute holds, as the model says it. How each type is stored: docs/object-layer.md.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
    /// A signed 16-bit integer.
    case integer16
    /// A signed 32-bit integer.
    case integer32
    /// A signed 64-bit integer.
    case integer64
    /// A 32-bit floating point number.
    case float
    /// A 64-bit floating point number.
    case double
    /// An exact decimal number, stored as its canonical text.
    case decimal
    /// Text.
    case string
    /// True or false, stored as 1 or 0.
    case boolean
    /// A point in time; how it is stored: ``DateStorage``.
    case date
    /// Bytes.
    case binary
    /// A UUID, stored as upper case text; 16 bytes are understood as well.
    case uuid
    /// A URI, stored as its text.
    case uri
    /// A value that a ``ValueTransformer`` turns into bytes.
    case transformable
    /// The identity of another object, stored as its URI.
    case objectID
    /// Whatever the column holds: a column of an existing table without a declared type.
    case any

    /// Integers, floating point numbers and decimals.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .float, .double, .decimal: return true
        default: return false
        }
    }

    /// The column type in the tables that syncd makes.
    public var columnType: String {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: return "INTEGER"
        case .float, .double: return "REAL"
        case .decimal, .string, .uuid, .uri, .objectID, .date: return "TEXT"
        case .binary, .transformable, .any: return "BLOB"
        }
    }
}
