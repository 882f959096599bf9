import Foundation

// Optionals of `#Predicate`. A term that is nil is NULL. A condition that is nil is neither true
// nor false, which a `FetchPredicate` cannot say: it is carried with the condition under which it
// is nil until `??`, `==`, `!=` or `!` decides.

extension PredicateBridge {
    mutating func comparison(
        of left: Any, by name: FetchPredicate.Operator, with right: Any
    ) throws -> BridgedPart {
        let (first, second) = (try part(left), try part(right))
        if case .term(let first) = first, case .term(let second) = second {
            return .predicate(.comparison(.init(first, name, second)))
        }
        // `$0.title?.contains("x") == true` compares a condition, not a value.
        guard name == .equal || name == .notEqual, let first = first.condition,
            let second = second.condition
        else { throw Self.unsupported(first.isFiltered ? left : right) }
        let same = FetchPredicate.or([
            .and([first.isNil, second.isNil]), .and([first.isTrue, second.isTrue]),
            .and([first.isFalse, second.isFalse]),
        ])
        return .predicate(name == .equal ? same : .not(same))
    }
}

extension BridgedPart {
    fileprivate var isFiltered: Bool {
        if case .filtered = self { return true }
        return false
    }

    /// When a Boolean is true, when false, and when nil; nil for what is no Boolean.
    fileprivate var condition:
        (isTrue: FetchPredicate, isFalse: FetchPredicate, isNil: FetchPredicate)?
    {
        let whether = { (term: PredicateTerm, value: PredicateConstant) in
            FetchPredicate.comparison(.init(term, .equal, .constant(value)))
        }
        switch self {
        case .predicate(let inner): return (inner, .not(inner), .constant(false))
        case .optional(let inner, let isNil):
            return (.and([.not(isNil), inner]), .and([.not(isNil), .not(inner)]), isNil)
        case .term(let term):
            return (
                whether(term, .boolean(true)), whether(term, .boolean(false)), whether(term, .null)
            )
        case .filtered: return nil
        }
    }
}

extension PredicateExpressions.NilCoalesce: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let (first, second) = (try bridge.part(lhs), try bridge.part(rhs))
        if case .term(let first) = first, case .term(let second) = second {
            return .term(.coalesce(first, second))
        }
        // What is unwrapped may be an optional itself, but no condition is.
        if case .optional = second { throw PredicateBridge.unsupported(self) }
        guard let first = first.condition, let second = second.condition else {
            throw PredicateBridge.unsupported(self)
        }
        return .predicate(.or([first.isTrue, .and([first.isNil, second.isTrue])]))
    }
}

extension PredicateExpressions.ForcedUnwrap: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let part = try bridge.part(inner)
        guard case .optional(let condition, let isNil) = part else { return part }
        return .predicate(.and([.not(isNil), condition]))
    }
}

extension PredicateExpressions.OptionalFlatMap: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let path = try bridge.path(wrapped)
        let part = try bridge.with(variable.key, at: path) { try $0.part(transform) }
        let isNil = FetchPredicate.comparison(.init(.keyPath(path), .equal, .constant(.null)))
        switch part {
        case .predicate(let inner): return .optional(inner, isNil: isNil)
        case .optional(let inner, let wasNil):
            return .optional(inner, isNil: .or([isNil, wasNil]))
        case .term(.keyPath(let end)) where end.starts(with: path) && end.last != "@count":
            // A path over nil is NULL in SQL as well, and can use an index.
            return .term(.keyPath(end))
        case .term(let term): return .term(.when(.not(isNil), term))
        case .filtered: throw PredicateBridge.unsupported(self)
        }
    }
}
