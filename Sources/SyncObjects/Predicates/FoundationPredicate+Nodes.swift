import Foundation

// One conformance for each kind of expression that `#Predicate` writes and that SQL can say.

extension PredicateExpressions.Variable: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        .term(.keyPath(try bridge.path(of: key)))
    }
}

extension PredicateExpressions.Value: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        .term(.constant(try PredicateConstant(value)))
    }
}

extension PredicateExpressions.NilLiteral: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart { .term(.constant(.null)) }
}

extension PredicateExpressions.KeyPath: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let part = try bridge.part(root)
        if kind == .collectionCount || "\(keyPath)".hasSuffix(".count") {
            if case .filtered(let path, let inner) = part {
                return .term(.count(path: path, inner))
            }
            if case .term(.keyPath(let path)) = part { return .term(.keyPath(path + ["@count"])) }
        }
        guard case .term(.keyPath(let path)) = part,
            let naming = Root.Output.self as? any KeyPathNaming.Type,
            let name = naming.propertyName(of: keyPath)
        else { throw PredicateBridge.unsupported(self) }
        return .term(.keyPath(path + name.split(separator: ".").map(String.init)))
    }
}

extension PredicateExpressions.Equal: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        try bridge.comparison(lhs, .equal, rhs)
    }
}

extension PredicateExpressions.NotEqual: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        try bridge.comparison(lhs, .notEqual, rhs)
    }
}

extension PredicateExpressions.Comparison: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let name: FetchPredicate.Operator
        switch op {
        case .lessThan: name = .less
        case .lessThanOrEqual: name = .lessOrEqual
        case .greaterThan: name = .greater
        case .greaterThanOrEqual: name = .greaterOrEqual
        @unknown default: throw PredicateBridge.unsupported(self)
        }
        return try bridge.comparison(lhs, name, rhs)
    }
}

extension PredicateBridge {
    fileprivate mutating func comparison(
        _ left: Any, _ name: FetchPredicate.Operator, _ right: Any
    ) throws -> BridgedPart {
        // `$0.tags.contains { … } == true` compares a condition, not a value.
        if case .predicate(let inner) = try part(left),
            case .term(.constant(.boolean(let wanted))) = try part(right),
            name == .equal || name == .notEqual
        {
            return .predicate(wanted == (name == .equal) ? inner : .not(inner))
        }
        return .predicate(.comparison(.init(try term(left), name, try term(right))))
    }
}

extension PredicateExpressions.Conjunction: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        .predicate(.and([try bridge.predicate(lhs), try bridge.predicate(rhs)]))
    }
}

extension PredicateExpressions.Disjunction: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        .predicate(.or([try bridge.predicate(lhs), try bridge.predicate(rhs)]))
    }
}

extension PredicateExpressions.Negation: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        .predicate(.not(try bridge.predicate(wrapped)))
    }
}

extension PredicateExpressions.NilCoalesce: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        // `$0.group?.tasks.contains { … } ?? false`: a condition is never nil here.
        if case .predicate(let inner) = try bridge.part(lhs) { return .predicate(inner) }
        return .term(.coalesce(try bridge.term(lhs), try bridge.term(rhs)))
    }
}

extension PredicateExpressions.ForcedUnwrap: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart { try bridge.part(inner) }
}

extension PredicateExpressions.OptionalFlatMap: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let path = try bridge.path(wrapped)
        return try bridge.with(variable.key, at: path) { try $0.part(transform) }
    }
}

extension PredicateExpressions.CollectionContainsCollection: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let left = try bridge.term(base)
        return .predicate(.comparison(.init(left, .contains, try bridge.term(other))))
    }
}

extension PredicateExpressions.SequenceStartsWith: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let left = try bridge.term(base)
        return .predicate(.comparison(.init(left, .beginsWith, try bridge.term(prefix))))
    }
}

extension PredicateExpressions.SequenceContains: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let whole = try bridge.term(sequence)
        let part = try bridge.term(element)
        if case .constant(.list) = whole {
            return .predicate(.comparison(.init(part, .isIn, whole)))
        }
        return .predicate(.comparison(.init(whole, .contains, part)))
    }
}

extension PredicateExpressions.SequenceContainsWhere: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let path = try bridge.path(sequence)
        let inner = try bridge.inside(variable.key) { try $0.predicate(test) }
        return .predicate(.exists(path: path, inner))
    }
}

extension PredicateExpressions.SequenceAllSatisfy: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let path = try bridge.path(sequence)
        let inner = try bridge.inside(variable.key) { try $0.predicate(test) }
        return .predicate(.not(.exists(path: path, .not(inner))))
    }
}

extension PredicateExpressions.Filter: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let path = try bridge.path(sequence)
        let inner = try bridge.inside(variable.key) { try $0.predicate(filter) }
        return .filtered(path, inner)
    }
}

extension PredicateExpressions.RangeExpressionContains: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        let value = try bridge.term(element)
        let bounds: (low: Any, high: Any, open: Bool)
        if let node = range as? any BridgedRange {
            bounds = node.bounds
        } else {
            throw PredicateBridge.unsupported(range)
        }
        return .predicate(
            .and([
                .comparison(.init(value, .greaterOrEqual, try bridge.term(bounds.low))),
                .comparison(
                    .init(
                        value, bounds.open ? .less : .lessOrEqual, try bridge.term(bounds.high))),
            ]))
    }
}

/// A range whose two ends are expressions.
private protocol BridgedRange {
    var bounds: (low: Any, high: Any, open: Bool) { get }
}

extension PredicateExpressions.Range: BridgedRange {
    var bounds: (low: Any, high: Any, open: Bool) { (lower, upper, true) }
}

extension PredicateExpressions.ClosedRange: BridgedRange {
    var bounds: (low: Any, high: Any, open: Bool) { (lower, upper, false) }
}
