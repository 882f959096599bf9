import Foundation
import SyncCore

/// Resolves a predicate's names and values in a model. Every error is found here, before anything
/// is read.
struct PredicateBinder {
    let model: ManagedObjectModel
    /// The store whose objects are meant; nil where no predicate can name an object.
    var store: UUID?

    func bind(_ predicate: FetchPredicate, to entity: EntityLayout) throws -> BoundPredicate {
        try predicate.requireDepth()
        return try bound(predicate, to: entity)
    }

    private func bound(
        _ predicate: FetchPredicate, to entity: EntityLayout
    ) throws -> BoundPredicate {
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(try parts.map { try bound($0, to: entity) })
        case .or(let parts): return .or(try parts.map { try bound($0, to: entity) })
        case .not(.not(let inner)): return try bound(inner, to: entity)
        case .not(let inner): return .not(try bound(inner, to: entity))
        case .exists(let path, let inner):
            return try exists(path[...], from: entity) { try bound(inner, to: $0) }
        case .comparison(let comparison): return try bind(comparison, to: entity)
        }
    }

    /// The relationships of `path`, one inside the other; `inner` is asked for what is at the end.
    private func exists(
        _ path: ArraySlice<String>, from entity: EntityLayout,
        satisfying inner: (EntityLayout) throws -> BoundPredicate
    ) throws -> BoundPredicate {
        let (steps, rest, end) = try toOneSteps(of: path, from: entity)
        guard let name = rest.first, let index = end.relationIndex[name] else {
            throw ObjectError(
                .invalidPredicate, "“\(path.joined(separator: "."))” leads to one object at most",
                entity: entity.name)
        }
        let relation = try step(from: end, relation: index)
        let after = rest.dropFirst()
        return .exists(
            steps, relation,
            after.isEmpty
                ? try inner(relation.destination)
                : try exists(after, from: relation.destination, satisfying: inner))
    }

    private func bind(
        _ comparison: FetchPredicate.Comparison, to entity: EntityLayout
    ) throws -> BoundPredicate {
        guard case .keyPath(let path) = comparison.left,
            let split = try manyPath(path, from: entity)
        else {
            if comparison.quantifier != nil {
                throw ObjectError(
                    .invalidPredicate,
                    "\(comparison.quantifier?.rawValue ?? "") needs a to-many relationship",
                    entity: entity.name)
            }
            return try plain(comparison, to: entity)
        }
        var inner = comparison
        inner.left = .keyPath(Array(split.rest))
        inner.quantifier = nil
        let leaf = { (end: EntityLayout) -> BoundPredicate in
            let bound = try plain(inner, to: end)
            return comparison.quantifier == .all ? .not(bound) : bound
        }
        switch comparison.quantifier {
        case .any: return try exists(split.path, from: entity, satisfying: leaf)
        case FetchPredicate.Quantifier.none?, .all:
            return .not(try exists(split.path, from: entity, satisfying: leaf))
        case nil:
            // `tasks CONTAINS task`: one of them is it.
            guard comparison.operator == .contains, split.rest.isEmpty else {
                throw ObjectError(
                    .invalidPredicate,
                    "“\(path.joined(separator: "."))” leads to many objects: use ANY, ALL or NONE",
                    entity: entity.name)
            }
            inner.operator = .equal
            return try exists(split.path, from: entity) { try plain(inner, to: $0) }
        }
    }

    /// The path up to its last to-many relationship, and what comes after it; nil without one, and
    /// for aggregates.
    private func manyPath(
        _ path: [String], from entity: EntityLayout
    ) throws -> (path: ArraySlice<String>, rest: ArraySlice<String>)? {
        guard !path.contains(where: { $0.hasPrefix("@") }) else { return nil }
        var end = entity
        var last: Int?
        for (offset, name) in path.enumerated() {
            guard let index = end.relationIndex[name] else { break }
            if end.relations[index].description.isToMany { last = offset }
            end = try step(from: end, relation: index).destination
        }
        return last.map { (path[...$0], path[($0 + 1)...]) }
    }

    // MARK: Comparisons

    private func plain(
        _ comparison: FetchPredicate.Comparison, to entity: EntityLayout
    ) throws -> BoundPredicate {
        let name = comparison.operator
        if name == .isIn {
            guard case .constant(.list(let list)) = comparison.right else {
                throw ObjectError(.invalidPredicate, "IN takes a list", entity: entity.name)
            }
            let left = try term(comparison.left, in: entity, like: nil)
            let values = try list.map { try value($0, like: left, in: entity).0 }
            return .isIn(left, values, comparison.options)
        }
        if name == .between {
            guard case .constant(.list(let bounds)) = comparison.right, bounds.count == 2 else {
                throw ObjectError(
                    .invalidPredicate, "BETWEEN takes two bounds", entity: entity.name)
            }
            let low = FetchPredicate.Comparison(
                comparison.left, .greaterOrEqual, .constant(bounds[0]))
            let high = FetchPredicate.Comparison(
                comparison.left, .lessOrEqual, .constant(bounds[1]))
            return .and([try plain(low, to: entity), try plain(high, to: entity)])
        }
        let (left, right) = try terms(of: comparison, in: entity)
        try check(left, by: name, with: right, in: entity)
        return .compare(left, name, right, comparison.options)
    }

    private func terms(
        of comparison: FetchPredicate.Comparison, in entity: EntityLayout
    ) throws -> (BoundTerm, BoundTerm) {
        if case .constant = comparison.left {
            let right = try term(comparison.right, in: entity, like: nil)
            return (try term(comparison.left, in: entity, like: right), right)
        }
        let left = try term(comparison.left, in: entity, like: nil)
        return (left, try term(comparison.right, in: entity, like: left))
    }

    private func check(
        _ left: BoundTerm, by name: FetchPredicate.Operator, with right: BoundTerm,
        in entity: EntityLayout
    ) throws {
        if name.isTextual, left.kind != .text && left.kind != .any {
            throw ObjectError(
                .invalidPredicate, "\(name.rawValue) works on text", entity: entity.name)
        }
        if left.kind == .reference, name != .equal, name != .notEqual {
            throw ObjectError(
                .invalidPredicate, "objects have no order: use == or !=", entity: entity.name)
        }
        let kinds = [left.kind, right.kind]
        let isMixed =
            left.kind != right.kind && !kinds.contains(.any)
            && Set(kinds.map { $0 == .decimal ? BoundKind.number : $0 }.map { "\($0)" }).count > 1
        if isMixed, !left.isNull, !right.isNull {
            throw ObjectError(
                .invalidPredicate, "a \(left.kind) cannot be compared with a \(right.kind)",
                entity: entity.name)
        }
    }

    // MARK: Terms

    func term(
        _ term: PredicateTerm, in entity: EntityLayout, like other: BoundTerm?
    ) throws -> BoundTerm {
        switch term {
        case .constant(let constant):
            let (value, kind) = try value(constant, like: other, in: entity)
            return .value(value, kind)
        case .keyPath(let path): return try keyPath(path[...], in: entity)
        case .count(let path, let inner):
            let (steps, rest, end) = try toOneSteps(of: path[...], from: entity)
            guard rest.count == 1, let name = rest.first, let index = end.relationIndex[name] else {
                throw ObjectError(
                    .invalidPredicate, "a subquery begins with a to-many relationship",
                    entity: entity.name)
            }
            let relation = try step(from: end, relation: index)
            return .count(steps, relation, try bound(inner, to: relation.destination))
        case .coalesce(let first, let second):
            let first = try self.term(first, in: entity, like: other)
            return .coalesce(
                first, try self.term(second, in: entity, like: first.isNull ? other : first))
        case .when(let condition, let inner):
            return .when(
                try bound(condition, to: entity), try self.term(inner, in: entity, like: other))
        }
    }

    private func keyPath(_ path: ArraySlice<String>, in entity: EntityLayout) throws -> BoundTerm {
        let (steps, rest, end) = try toOneSteps(of: path, from: entity)
        guard let name = rest.first else { return .key(steps, end) }
        if let index = end.relationIndex[name] {
            return try aggregate(
                after: steps, of: step(from: end, relation: index), names: rest.dropFirst(),
                path: path)
        }
        // Attributes in composites have dots in their names.
        let dotted = rest.joined(separator: ".")
        guard let slot = end.slotIndex[dotted] else { throw end.unknownProperty(dotted) }
        return .slot(steps, end, slot, Self.kind(end.slots[slot].coding.type))
    }

    private func aggregate(
        after steps: BoundPath, of relation: BoundRelation, names rest: ArraySlice<String>,
        path: ArraySlice<String>
    ) throws -> BoundTerm {
        let names = Array(rest)
        if names == ["@count"] { return .count(steps, relation, nil) }
        // Both `tasks.@sum.priority` and `tasks.priority.@sum` are in use.
        let operation = names.first { $0.hasPrefix("@") } ?? ""
        let attribute = names.filter { $0 != operation }.joined(separator: ".")
        guard let function = BoundAggregate(rawValue: operation), names.count == 2,
            let slot = relation.destination.slotIndex[attribute]
        else {
            throw ObjectError(
                .invalidPredicate, "“\(path.joined(separator: "."))” is not a value of one object",
                hint: "Put ANY, ALL or NONE before it, or use @count, @sum, @avg, @min or @max",
                entity: relation.source.name)
        }
        let kind = Self.kind(relation.destination.slots[slot].coding.type)
        return .aggregate(steps, relation, function, slot: slot, kind)
    }

    /// Follows to-one relationships as far as the path has them.
    private func toOneSteps(
        of path: ArraySlice<String>, from entity: EntityLayout
    ) throws -> (BoundPath, ArraySlice<String>, EntityLayout) {
        var steps: BoundPath = []
        var end = entity
        var rest = path
        while let name = rest.first, let index = end.relationIndex[name],
            !end.relations[index].description.isToMany
        {
            let next = try step(from: end, relation: index)
            steps.append(next)
            end = next.destination
            rest = rest.dropFirst()
        }
        return (steps, rest, end)
    }

    private func step(from entity: EntityLayout, relation index: Int) throws -> BoundRelation {
        let destination = try model.entity(entity.relations[index].description.destination)
        return BoundRelation(source: entity, index: index, destination: destination)
    }

    private func value(
        _ constant: PredicateConstant, like other: BoundTerm?, in entity: EntityLayout
    ) throws -> (Value, BoundKind) {
        if case .object(let id) = constant, other.map({ $0.kind == .reference }) ?? true {
            try check(id, leadsTo: other.flatMap(destination), in: entity)
            guard let reference = id.key.reference else {
                throw ObjectError(
                    .unsupportedPredicate, "objects with composite keys cannot be compared",
                    entity: entity.name)
            }
            return (reference, .reference)
        }
        if case .list = constant {
            throw ObjectError(.invalidPredicate, "a list goes with IN", entity: entity.name)
        }
        let coding = other.flatMap(coding) ?? AttributeCoding(.any)
        if case .real(let number) = constant, number.isNaN { throw Self.notANumber(entity) }
        if case .decimal(let number) = constant, number.isNaN { throw Self.notANumber(entity) }
        switch (constant, coding.type) {
        case (.integer(let number), _) where coding.type.isNumeric && coding.type != .decimal:
            return (.integer(number), .number)
        case (.real(let number), _) where coding.type.isNumeric && coding.type != .decimal:
            return (.real(number), .number)
        case (.decimal(let number), _) where coding.type != .decimal:
            return (try AttributeCoding(.double).encode(number), .number)
        default: break
        }
        let value = try coding.encode(constant.swiftValue)
        if case .key(_, let end)? = other, end.table.isManaged, value != .null {
            guard case .integer = value else {
                throw ObjectError(
                    .invalidPredicate, "an object is compared with an object or with its key",
                    entity: entity.name)
            }
        }
        guard coding.type == .any else { return (value, Self.kind(coding.type)) }
        return (value, other?.kind ?? Self.kind(of: value))
    }

    private static func notANumber(_ entity: EntityLayout) -> ObjectError {
        ObjectError(
            .invalidPredicate, "NaN cannot be stored, and equals nothing",
            entity: entity.name)
    }

    /// The entity of the objects that a term refers to.
    private func destination(_ term: BoundTerm) -> EntityLayout? {
        switch term {
        case .key(_, let entity): return entity
        case .coalesce(let first, let second): return destination(first) ?? destination(second)
        case .when(_, let inner): return destination(inner)
        case .value, .slot, .count, .aggregate: return nil
        }
    }

    /// Keys are compared, so that an object of another entity or store would pass for the one that
    /// has the same key here.
    private func check(
        _ id: ManagedObjectID, leadsTo destination: EntityLayout?, in entity: EntityLayout
    ) throws {
        if let destination, destination.root != id.entity {
            throw ObjectError(
                .invalidPredicate, "“\(id)” is not an object of “\(destination.name)”",
                entity: entity.name)
        }
        if let store, store != id.store {
            throw ObjectError(
                .invalidPredicate, "“\(id)” belongs to another store or to none",
                hint: "Get it from a context of this store", entity: entity.name)
        }
    }

    private func coding(_ term: BoundTerm) -> AttributeCoding? {
        switch term {
        case .slot(_, let entity, let slot, _): return entity.slots[slot].coding
        case .aggregate(_, let relation, let function, let slot, _):
            return function == .sum || function == .average
                ? AttributeCoding(.double) : relation.destination.slots[slot].coding
        case .count: return AttributeCoding(.integer64)
        case .coalesce(let first, let second): return coding(first) ?? coding(second)
        case .when(_, let inner): return coding(inner)
        case .value, .key: return nil
        }
    }

    private static func kind(_ type: AttributeType) -> BoundKind {
        switch type {
        case .integer16, .integer32, .integer64, .float, .double, .boolean: return .number
        case .decimal: return .decimal
        case .string, .uuid, .uri, .objectID: return .text
        case .date, .any: return .any
        case .binary, .transformable: return .blob
        }
    }

    private static func kind(of value: Value) -> BoundKind {
        switch value {
        case .null: return .any
        case .integer, .real: return .number
        case .text: return .text
        case .blob: return .blob
        }
    }
}
