/// Checks values against the types of one interface.
public struct TypeChecker: Sendable {
    /// A value that does not match its type.
    public struct Mismatch: Error, Hashable, CustomStringConvertible {
        /// The field: `name`, `name.inner`, `name[3]`.
        public let field: String
        /// What was expected there.
        public let reason: String

        /// Field and reason.
        public var description: String { "\(field): \(reason)" }
    }

    private let types: [String: TypeReference]

    /// Makes a checker for the types of `interface`.
    public init(_ interface: Interface) {
        types = Dictionary(
            interface.types.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first })
    }

    /// Checks parameters against fields. Every field must be present unless it is optional. A
    /// member that no field names is refused unless it is null: if a filter that this version does
    /// not know were ignored, the reply would be wrong.
    ///
    /// - Throws: the first `Mismatch`.
    /// - Complexity: O(size of the object * fields).
    public func check(_ object: JSONObject, against fields: [Field]) throws(Mismatch) {
        try check(object, against: fields, path: "")
    }

    private func check(
        _ object: JSONObject, against fields: [Field], path: String
    ) throws(Mismatch) {
        var matched = 0
        for field in fields {
            if let value = object[field.name] {
                matched += 1
                try check(value, against: field.type) {
                    path.isEmpty ? field.name : "\(path).\(field.name)"
                }
            } else if case .optional = field.type {
                continue
            } else {
                throw Mismatch(
                    field: path.isEmpty ? field.name : "\(path).\(field.name)",
                    reason: "is missing")
            }
        }
        guard matched < object.count else { return }
        let names = Set(fields.map(\.name))
        for member in object.members where !names.contains(member.name) && !member.value.isNull {
            throw Mismatch(
                field: path.isEmpty ? member.name : "\(path).\(member.name)",
                reason: "is not known")
        }
    }

    /// `path` is a closure so that its text is made only for an error or a nested value.
    private func check(
        _ value: JSONValue, against type: TypeReference, path: () -> String
    ) throws(Mismatch) {
        switch (type, value) {
        case (.optional, .null), (.object, _), (.bool, .bool), (.int, .integer),
            (.float, .integer), (.float, .double), (.string, .string):
            return
        case (.optional(let inner), _):
            try check(value, against: inner, path: path)
        case (.named(let name), _):
            guard let inner = types[name] else {
                throw Mismatch(field: path(), reason: "has the unknown type \(name)")
            }
            try check(value, against: inner, path: path)
        case (.enumeration(let cases), .string(let string)):
            guard cases.contains(where: { $0.name == string }) else {
                let names = cases.map(\.name).joined(separator: ", ")
                throw Mismatch(field: path(), reason: "must be one of \(names)")
            }
        case (.structure(let fields), .object(let object)):
            try check(object, against: fields, path: path())
        case (.array(let element), .array(let elements)):
            for (index, value) in elements.enumerated() {
                try check(value, against: element) { "\(path())[\(index)]" }
            }
        case (.map(let element), .object(let object)):
            for member in object.members {
                try check(member.value, against: element) { "\(path())[\(member.name)]" }
            }
        default:
            throw Mismatch(field: path(), reason: "has the wrong type")
        }
    }
}
