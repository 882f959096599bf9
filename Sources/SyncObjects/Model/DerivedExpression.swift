/// What a derived attribute is computed from, parsed from its text. Computed at each save, in the
/// transaction of the save, by SQL over the rows as they are then.
public enum DerivedExpression: Sendable, Hashable {
    /// `title`, `group.title`: a copy.
    case copy([String])
    /// `canonical:(title)`: without case and diacritics.
    case canonical([String])
    /// `uppercase:(title)`
    case uppercase([String])
    /// `lowercase:(title)`
    case lowercase([String])
    /// `tasks.@count`; with a condition on the counted objects: `tasks.@count(completed == true)`
    case count(relationship: String, where: String?)
    /// `tasks.@sum.priority`, or in Core Data's order `tasks.priority.@sum`
    case sum(relationship: String, attribute: String)
    /// `now()`: the time of the object's last save.
    case now

    /// Reads the text of an expression.
    ///
    /// - Throws: ``ObjectError/Code/invalidModel`` for what cannot be derived.
    public init(_ text: String) throws {
        let trimmed = text.split(separator: " ", omittingEmptySubsequences: true)
            .joined(separator: " ")
        if trimmed == "now()" {
            self = .now
            return
        }
        for (prefix, make) in Self.functions where trimmed.hasPrefix(prefix) {
            guard trimmed.hasSuffix(")") else { throw Self.problem(text) }
            let inner = trimmed.dropFirst(prefix.count).dropLast()
            self = make(try Self.path(inner, in: text, limit: 2))
            return
        }
        if let mark = trimmed.firstIndex(of: "@") {
            self = try Self.aggregate(
                path: trimmed[..<mark], operation: trimmed[trimmed.index(after: mark)...], in: text)
            return
        }
        self = .copy(try Self.path(trimmed[...], in: text, limit: 2))
    }

    private static let functions: [(String, @Sendable ([String]) -> Self)] = [
        ("canonical:(", { .canonical($0) }), ("uppercase:(", { .uppercase($0) }),
        ("lowercase:(", { .lowercase($0) }),
    ]

    private static func aggregate(
        path before: Substring, operation: Substring, in text: String
    ) throws -> Self {
        guard before.hasSuffix(".") else { throw problem(text) }
        let path = try path(before.dropLast(), in: text, limit: 2)
        if operation == "count", path.count == 1 {
            return .count(relationship: path[0], where: nil)
        }
        if operation.hasPrefix("count("), operation.hasSuffix(")"), path.count == 1 {
            let condition = operation.dropFirst("count(".count).dropLast()
            return .count(relationship: path[0], where: String(condition))
        }
        if operation == "sum", path.count == 2 {
            return .sum(relationship: path[0], attribute: path[1])
        }
        throw problem(text)
    }

    private static func path(_ part: Substring, in text: String, limit: Int) throws -> [String] {
        let names = part.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isName = { (name: String) in
            !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        }
        guard names.count <= limit, names.allSatisfy(isName) else { throw problem(text) }
        return names
    }

    private static func problem(_ text: String) -> ObjectError {
        ObjectError(
            .invalidModel, "“\(text)” cannot be derived",
            hint: "Use a property, canonical:(x), uppercase:(x), lowercase:(x), "
                + "relation.@count, relation.attribute.@sum or now()")
    }
}
