import Foundation

// One conformance for each kind of expression of `#Predicate` that can be written in SQL.

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
        if kind == .collectionCount || kind == .collectionIsEmpty {
            return try ofCollection(part)
        }
        guard case .term(.keyPath(let path)) = part,
            let naming = Root.Output.self as? any KeyPathNaming.Type
        else { throw PredicateBridge.unsupported(self) }
        guard let name = naming.propertyName(of: keyPath) else {
            throw ObjectError(
                .unsupportedPredicate, "\(keyPath) reads no stored property of \(Root.Output.self)",
                hint: "Write the computation with stored properties in the predicate")
        }
        return .term(.keyPath(path + name.split(separator: ".").map(String.init)))
    }

    /// `count` and `isEmpty`. Swift counts characters of text, SQLite does not, so that `count` of
    /// a text is refused.
    private func ofCollection(_ part: BridgedPart) throws -> BridgedPart {
        let count: PredicateTerm
        switch part {
        case .filtered(let path, let inner): count = .count(path: path, inner)
        case .term(.keyPath(let path)) where Root.Output.self is any BridgedMembers.Type:
            count = .keyPath(path + ["@count"])
        case .term(let text) where Root.Output.self is any StringProtocol.Type:
            guard kind == .collectionIsEmpty else { throw PredicateBridge.unsupported(self) }
            return .predicate(.comparison(.init(text, .equal, .constant(.text("")))))
        default: throw PredicateBridge.unsupported(self)
        }
        guard kind == .collectionIsEmpty else { return .term(count) }
        return .predicate(.comparison(.init(count, .equal, .constant(.integer(0)))))
    }
}

extension PredicateExpressions.Equal: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        try bridge.comparison(of: lhs, by: .equal, with: rhs)
    }
}

extension PredicateExpressions.NotEqual: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        try bridge.comparison(of: lhs, by: .notEqual, with: rhs)
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
        return try bridge.comparison(of: lhs, by: name, with: rhs)
    }
}

/// The objects that a to-many relationship leads to.
private protocol BridgedMembers {}

extension Array: BridgedMembers where Element: KeyPathNaming {}

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

extension PredicateExpressions.UnaryMinus: BridgedNode {
    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart {
        switch try bridge.part(wrapped) {
        case .term(.constant(.integer(let number))) where number != .min:
            return .term(.constant(.integer(-number)))
        case .term(.constant(.real(let number))): return .term(.constant(.real(-number)))
        case .term(.constant(.decimal(let number))): return .term(.constant(.decimal(-number)))
        default: throw PredicateBridge.unsupported(self)
        }
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
