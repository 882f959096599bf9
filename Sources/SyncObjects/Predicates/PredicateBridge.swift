import Foundation

/// Walks over the expression of a Foundation predicate.
struct PredicateBridge {
    /// The path that each variable refers to: of the object in question, and of unwrapped
    /// optionals.
    private var paths: [PredicateExpressions.VariableID: [String]]

    init(subject: PredicateExpressions.VariableID) { paths = [subject: []] }

    mutating func predicate(_ expression: Any) throws -> FetchPredicate {
        switch try part(expression) {
        case .predicate(let predicate): return predicate
        case .term(let term):
            // A bare Boolean property.
            return .comparison(.init(term, .equal, .constant(.boolean(true))))
        case .optional, .filtered: throw Self.unsupported(expression)
        }
    }

    mutating func term(_ expression: Any) throws -> PredicateTerm {
        switch try part(expression) {
        case .term(let term): return term
        case .predicate(.constant(let value)): return .constant(.boolean(value))
        case .predicate, .optional, .filtered: throw Self.unsupported(expression)
        }
    }

    mutating func path(_ expression: Any) throws -> [String] {
        guard case .keyPath(let path) = try term(expression) else {
            throw Self.unsupported(expression)
        }
        return path
    }

    mutating func part(_ expression: Any) throws -> BridgedPart {
        guard let node = expression as? any BridgedNode else { throw Self.unsupported(expression) }
        return try node.bridge(&self)
    }

    /// Runs `body` with `variable` standing for what is at `path`.
    mutating func with<Result>(
        _ variable: PredicateExpressions.VariableID, at path: [String],
        perform body: (inout PredicateBridge) throws -> Result
    ) rethrows -> Result {
        let former = paths.updateValue(path, forKey: variable)
        defer { paths[variable] = former }
        return try body(&self)
    }

    /// Runs `body` with `variable` as the only object in question: inside of a to-many
    /// relationship.
    func inside<Result>(
        _ variable: PredicateExpressions.VariableID,
        perform body: (inout PredicateBridge) throws -> Result
    ) rethrows -> Result {
        var inner = PredicateBridge(subject: variable)
        return try body(&inner)
    }

    func path(of variable: PredicateExpressions.VariableID) throws -> [String] {
        guard let path = paths[variable] else {
            throw ObjectError(
                .unsupportedPredicate,
                "a condition on the objects of a relationship can use only these objects",
                hint: "Assign the value to a constant before the predicate")
        }
        return path
    }

    static func unsupported(_ expression: Any) -> ObjectError {
        let name = String(reflecting: type(of: expression)).split(separator: "<").first ?? "?"
        let short = name.split(separator: ".").last ?? name
        return ObjectError(
            .unsupportedPredicate, "“\(short)” in a #Predicate has no counterpart in SQL",
            hint: "Write the predicate as text, or filter the fetched objects")
    }
}

/// The translation of a part of an expression.
enum BridgedPart {
    case predicate(FetchPredicate)
    case term(PredicateTerm)
    /// A condition that is nil where the second predicate holds.
    case optional(FetchPredicate, isNil: FetchPredicate)
    /// `relation.filter { … }`, which `.count` makes a term of.
    case filtered([String], FetchPredicate)
}

/// A kind of expression that the bridge understands.
protocol BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart
}
