import SyncCore

/// Evaluates predicates and orders in memory, with the meaning that they have in SQL.
enum PredicateEvaluator {
    static func evaluate(_ predicate: BoundPredicate, on subject: any PredicateSubject) -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return parts.allSatisfy { evaluate($0, on: subject) }
        case .or(let parts): return parts.contains { evaluate($0, on: subject) }
        case .not(let inner): return !evaluate(inner, on: subject)
        case .compare(let left, let name, let right, let options):
            return compare(
                value(of: left, for: subject), by: name, with: value(of: right, for: subject),
                options: options, leftKind: left.kind, rightKind: right.kind)
        case .isIn(let term, let values, let options):
            let own = value(of: term, for: subject)
            return values.contains {
                compare(
                    own, by: .equal, with: $0, options: options, leftKind: term.kind,
                    rightKind: term.kind)
            }
        case .exists(let path, let relation, let inner):
            guard let end = follow(path, from: subject) else { return false }
            return end.members(ofRelation: relation.index).contains { evaluate(inner, on: $0) }
        }
    }

    private static func follow(
        _ path: BoundPath, from subject: any PredicateSubject
    ) -> (any PredicateSubject)? {
        var end = subject
        for step in path {
            guard let next = end.target(ofRelation: step.index) else { return nil }
            end = next
        }
        return end
    }

    static func value(of term: BoundTerm, for subject: any PredicateSubject) -> Value {
        switch term {
        case .value(let value, _): return value
        case .slot(let path, _, let slot, _):
            return follow(path, from: subject)?.value(atSlot: slot) ?? .null
        case .key(let path, _):
            // As in SQL, what the column holds: a reference may outlive what it names.
            if let last = path.last, case .reference(let slot) = last.relation.storage {
                return follow(path.dropLast(), from: subject)?.value(atSlot: slot) ?? .null
            }
            return follow(path, from: subject)?.reference ?? .null
        case .count(let path, let relation, let inner):
            guard let end = follow(path, from: subject) else { return .integer(0) }
            let members = end.members(ofRelation: relation.index)
            let count = inner.map { inner in members.count { evaluate(inner, on: $0) } }
            return .integer(Int64(count ?? members.count))
        case .aggregate(let path, let relation, let function, let slot, let kind):
            guard let end = follow(path, from: subject) else { return .null }
            let values = end.members(ofRelation: relation.index).map { $0.value(atSlot: slot) }
            return aggregate(values.filter { $0 != .null }, by: function, as: kind)
        case .coalesce(let first, let second):
            let value = value(of: first, for: subject)
            return value == .null ? self.value(of: second, for: subject) : value
        case .when(let condition, let term):
            return evaluate(condition, on: subject) ? value(of: term, for: subject) : .null
        }
    }

    private static func aggregate(
        _ values: [Value], by function: BoundAggregate, as kind: BoundKind
    ) -> Value {
        guard let first = values.first else { return .null }
        switch function {
        case .minimum:
            return values.dropFirst().reduce(first) {
                order(of: $1, and: $0, as: kind) < 0 ? $1 : $0
            }
        case .maximum:
            return values.dropFirst().reduce(first) {
                order(of: $1, and: $0, as: kind) > 0 ? $1 : $0
            }
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
        _ left: Value, by name: FetchPredicate.Operator, with right: Value,
        options: FetchPredicate.TextOptions, leftKind: BoundKind, rightKind: BoundKind
    ) -> Bool {
        let (left, right) = (folded(left, options: options), folded(right, options: options))
        let kind: BoundKind = leftKind == .decimal || rightKind == .decimal ? .decimal : leftKind
        switch name {
        case .equal: return isEqual(left, to: right, leftKind: leftKind, rightKind: rightKind)
        case .notEqual: return !isEqual(left, to: right, leftKind: leftKind, rightKind: rightKind)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard left != .null, right != .null else { return false }
            let order = order(of: left, and: right, as: kind)
            switch name {
            case .less: return order < 0
            case .lessOrEqual: return order <= 0
            case .greater: return order > 0
            default: return order >= 0
            }
        case .contains, .beginsWith, .endsWith, .like, .matches:
            guard case .text(let text) = left, case .text(let part) = right else { return false }
            return matches(text, by: name, with: part, options: options)
        case .isIn, .between: return false
        }
    }

    private static func folded(_ value: Value, options: FetchPredicate.TextOptions) -> Value {
        guard !options.isEmpty, case .text(let text) = value else { return value }
        return .text(TextMatching.folded(text, options: options))
    }

    private static func matches(
        _ text: String, by name: FetchPredicate.Operator, with part: String,
        options: FetchPredicate.TextOptions
    ) -> Bool {
        switch name {
        case .contains: return TextMatching.contains(text, part: part)
        case .beginsWith: return TextMatching.begins(text, with: part)
        case .endsWith: return TextMatching.ends(text, with: part)
        case .like: return TextMatching.like(text, pattern: part)
        default: return TextMatching.matches(text, pattern: part, options: options)
        }
    }

    private static func isEqual(
        _ left: Value, to right: Value, leftKind: BoundKind, rightKind: BoundKind
    ) -> Bool {
        if left == .null || right == .null { return left == .null && right == .null }
        let isMixed = (leftKind == .decimal) != (rightKind == .decimal)
        return order(of: left, and: right, as: isMixed ? .decimal : .any) == 0
    }

    /// The order of two values, below 0 when the left one comes first: NULL, then numbers, then
    /// text, then bytes, as in SQLite.
    static func order(of left: Value, and right: Value, as kind: BoundKind) -> Int {
        if kind == .decimal, left != .null, right != .null {
            let (first, second) = (number(left), number(right))
            return first < second ? -1 : first > second ? 1 : 0
        }
        switch (left, right) {
        case (.integer(let first), .integer(let second)):
            return first < second ? -1 : first > second ? 1 : 0
        case (.text(let first), .text(let second)):
            if TextMatching.isLess(first, than: second) { return -1 }
            return TextMatching.isEqual(first, to: second) ? 0 : 1
        case (.blob(let first), .blob(let second)):
            if first.lexicographicallyPrecedes(second) { return -1 }
            return first == second ? 0 : 1
        case (.integer, .real), (.real, .integer), (.real, .real):
            return orderNumbers(of: left, and: right)
        default: return rank(left) - rank(right)
        }
    }

    /// Exact where a double cannot hold the integer, as SQLite compares them.
    private static func orderNumbers(of left: Value, and right: Value) -> Int {
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
