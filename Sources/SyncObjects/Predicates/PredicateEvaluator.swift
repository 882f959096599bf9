import SyncCore

/// What a predicate is asked about: an object, as far as predicates see it.
protocol PredicateSubject {
    /// The stored form of a slot's present value.
    func value(atSlot slot: Int) -> Value
    /// What a reference to this object holds.
    var reference: Value { get }
    /// The object that a to-one relationship leads to.
    func target(ofRelation relation: Int) -> (any PredicateSubject)?
    /// The objects that a to-many relationship leads to.
    func members(ofRelation relation: Int) -> [any PredicateSubject]
}

/// Evaluates predicates and orders in memory, with the meaning that they have in SQL.
enum PredicateEvaluator {
    static func evaluate(_ predicate: BoundPredicate, _ subject: any PredicateSubject) -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return parts.allSatisfy { evaluate($0, subject) }
        case .or(let parts): return parts.contains { evaluate($0, subject) }
        case .not(let inner): return !evaluate(inner, subject)
        case .compare(let left, let name, let right, let options):
            return compare(
                value(left, subject), name, value(right, subject), options, left.kind, right.kind)
        case .isIn(let term, let values, let options):
            let own = value(term, subject)
            return values.contains { compare(own, .equal, $0, options, term.kind, term.kind) }
        case .exists(let path, let relation, let inner):
            guard let end = follow(path, subject) else { return false }
            return end.members(ofRelation: relation.index).contains { evaluate(inner, $0) }
        }
    }

    private static func follow(
        _ path: BoundPath, _ subject: any PredicateSubject
    ) -> (any PredicateSubject)? {
        var end = subject
        for step in path {
            guard let next = end.target(ofRelation: step.index) else { return nil }
            end = next
        }
        return end
    }

    static func value(_ term: BoundTerm, _ subject: any PredicateSubject) -> Value {
        switch term {
        case .value(let value, _): return value
        case .slot(let path, _, let slot, _):
            return follow(path, subject)?.value(atSlot: slot) ?? .null
        case .key(let path, _):
            // As in SQL, what the column holds: a reference may outlive what it names.
            if let last = path.last, case .reference(let slot) = last.relation.storage {
                return follow(path.dropLast(), subject)?.value(atSlot: slot) ?? .null
            }
            return follow(path, subject)?.reference ?? .null
        case .count(let path, let relation, let inner):
            guard let end = follow(path, subject) else { return .integer(0) }
            let members = end.members(ofRelation: relation.index)
            let count = inner.map { inner in members.count { evaluate(inner, $0) } }
            return .integer(Int64(count ?? members.count))
        case .aggregate(let path, let relation, let function, let slot, let kind):
            guard let end = follow(path, subject) else { return .null }
            let values = end.members(ofRelation: relation.index).map { $0.value(atSlot: slot) }
            return aggregate(values.filter { $0 != .null }, function, kind)
        case .coalesce(let first, let second):
            let value = value(first, subject)
            return value == .null ? self.value(second, subject) : value
        case .when(let condition, let term):
            return evaluate(condition, subject) ? value(term, subject) : .null
        }
    }

    private static func aggregate(
        _ values: [Value], _ function: BoundAggregate, _ kind: BoundKind
    ) -> Value {
        guard let first = values.first else { return .null }
        switch function {
        case .minimum: return values.dropFirst().reduce(first) { order($1, $0, kind) < 0 ? $1 : $0 }
        case .maximum: return values.dropFirst().reduce(first) { order($1, $0, kind) > 0 ? $1 : $0 }
        case .average:
            return .real(values.map(number).reduce(0, +) / Double(values.count))
        case .sum:
            var whole: Int64? = 0
            for value in values {
                guard case .integer(let next) = value, let sum = whole else {
                    whole = nil
                    break
                }
                let (result, overflow) = sum.addingReportingOverflow(next)
                whole = overflow ? nil : result
            }
            return whole.map(Value.integer) ?? .real(values.map(number).reduce(0, +))
        }
    }

    private static func number(_ value: Value) -> Double {
        switch value {
        case .integer(let number): return Double(number)
        case .real(let number): return number
        case .text(let text): return Double(text) ?? 0
        case .null, .blob: return 0
        }
    }

    private static func compare(
        _ left: Value, _ name: FetchPredicate.Operator, _ right: Value,
        _ options: FetchPredicate.TextOptions, _ leftKind: BoundKind, _ rightKind: BoundKind
    ) -> Bool {
        let (left, right) = (folded(left, options), folded(right, options))
        let kind: BoundKind = leftKind == .decimal || rightKind == .decimal ? .decimal : leftKind
        switch name {
        case .equal: return isEqual(left, right, leftKind, rightKind)
        case .notEqual: return !isEqual(left, right, leftKind, rightKind)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard left != .null, right != .null else { return false }
            let order = order(left, right, kind)
            switch name {
            case .less: return order < 0
            case .lessOrEqual: return order <= 0
            case .greater: return order > 0
            default: return order >= 0
            }
        case .contains, .beginsWith, .endsWith, .like, .matches:
            guard case .text(let text) = left, case .text(let part) = right else { return false }
            return matches(text, name, part, options)
        case .isIn, .between: return false
        }
    }

    private static func folded(_ value: Value, _ options: FetchPredicate.TextOptions) -> Value {
        guard !options.isEmpty, case .text(let text) = value else { return value }
        return .text(TextMatching.folded(text, options))
    }

    private static func matches(
        _ text: String, _ name: FetchPredicate.Operator, _ part: String,
        _ options: FetchPredicate.TextOptions
    ) -> Bool {
        switch name {
        case .contains: return TextMatching.contains(text, part)
        case .beginsWith: return TextMatching.begins(text, part)
        case .endsWith: return TextMatching.ends(text, part)
        case .like: return TextMatching.like(text, part)
        default: return TextMatching.matches(text, part, options)
        }
    }

    private static func isEqual(
        _ left: Value, _ right: Value, _ leftKind: BoundKind, _ rightKind: BoundKind
    ) -> Bool {
        if left == .null || right == .null { return left == .null && right == .null }
        let isMixed = (leftKind == .decimal) != (rightKind == .decimal)
        return order(left, right, isMixed ? .decimal : .any) == 0
    }

    /// Below 0 when the left comes first: nulls, then numbers, then text, then bytes, as in SQLite.
    static func order(_ left: Value, _ right: Value, _ kind: BoundKind) -> Int {
        if kind == .decimal, left != .null, right != .null {
            let (first, second) = (number(left), number(right))
            return first < second ? -1 : first > second ? 1 : 0
        }
        switch (left, right) {
        case (.integer(let first), .integer(let second)):
            return first < second ? -1 : first > second ? 1 : 0
        case (.text(let first), .text(let second)):
            if TextMatching.isLess(first, second) { return -1 }
            return TextMatching.isEqual(first, second) ? 0 : 1
        case (.blob(let first), .blob(let second)):
            if first.lexicographicallyPrecedes(second) { return -1 }
            return first == second ? 0 : 1
        case (.integer, .real), (.real, .integer), (.real, .real):
            return orderNumbers(left, right)
        default: return rank(left) - rank(right)
        }
    }

    /// Exact where a double cannot hold the integer, as SQLite compares them.
    private static func orderNumbers(_ left: Value, _ right: Value) -> Int {
        if case .integer(let whole) = left, case .real(let real) = right {
            if let exact = Int64(exactly: real.rounded(.towardZero)), exact != whole {
                return whole < exact ? -1 : 1
            }
        }
        if case .real(let real) = left, case .integer(let whole) = right {
            if let exact = Int64(exactly: real.rounded(.towardZero)), exact != whole {
                return exact < whole ? -1 : 1
            }
        }
        let (first, second) = (number(left), number(right))
        return first < second ? -1 : first > second ? 1 : 0
    }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: return 0
        case .integer, .real: return 1
        case .text: return 2
        case .blob: return 3
        }
    }
}
