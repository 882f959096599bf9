import SyncCore

/// Writes bound predicates as SQL, so that SQLite can use its indexes.
///
/// Conditions on the row itself are plain comparisons of columns; relationships become correlated
/// subqueries on keys and indexed references. Comparisons of text name the BINARY collation,
/// whatever the column's own: what is equal in memory is equal in SQL.
struct PredicateSQL {
    private(set) var arguments: [Value] = []
    private var aliases = 0
    /// Values are written into the text, for SQL that is stored.
    var inlinesValues = false

    init(inlinesValues: Bool = false) { self.inlinesValues = inlinesValues }

    /// The condition for rows of `alias`.
    mutating func condition(_ predicate: BoundPredicate, on alias: String) throws -> String {
        switch predicate {
        case .constant(let value): return value ? "1" : "0"
        case .and(let parts): return try join(parts, separator: " AND ", empty: "1", on: alias)
        case .or(let parts): return try join(parts, separator: " OR ", empty: "0", on: alias)
        case .not(let inner): return "(\(try condition(inner, on: alias))) IS NOT TRUE"
        case .compare(let left, let name, let right, let options):
            return try compare(left, by: name, with: right, options: options, on: alias)
        case .isIn(let term, let values, let options):
            return try isIn(term, values: values, options: options, on: alias)
        case .exists(let path, let relation, let inner):
            return try exists(path, relation: relation, where: inner, on: alias)
        }
    }

    private mutating func join(
        _ parts: [BoundPredicate], separator word: String, empty: String, on alias: String
    ) throws -> String {
        guard !parts.isEmpty else { return empty }
        var texts: [String] = []
        for part in parts { texts.append(try condition(part, on: alias)) }
        return "(" + texts.joined(separator: word) + ")"
    }

    mutating func bind(_ value: Value) -> String {
        if inlinesValues { return value.description }
        arguments.append(value)
        return "?\(arguments.count)"
    }

    // MARK: Comparisons

    private mutating func compare(
        _ left: BoundTerm, by name: FetchPredicate.Operator, with right: BoundTerm,
        options: FetchPredicate.TextOptions, on alias: String
    ) throws -> String {
        let isEquality = name == .equal || name == .notEqual
        let isMixed = (left.kind == .decimal) != (right.kind == .decimal)
        let isComputed = left.isComputedDecimal || right.isComputedDecimal
        let asNumbers =
            isEquality
            ? isMixed || isComputed : left.kind == .decimal || right.kind == .decimal
        if name == .beginsWith, options.isEmpty, case .value(.text(let prefix), _) = right {
            return try begins(left, with: prefix, on: alias)
        }
        var first = folded(try term(left, on: alias), options: options)
        var second = folded(try term(right, on: alias), options: options)
        if asNumbers {
            if left.kind == .decimal { first = "CAST(\(first) AS REAL)" }
            if right.kind == .decimal { second = "CAST(\(second) AS REAL)" }
        }
        let collation = left.kind == .text || left.kind == .any ? " COLLATE BINARY" : ""
        switch name {
        case .equal: return "\(first) IS \(second)\(collation)"
        case .notEqual: return "\(first) IS NOT \(second)\(collation)"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return "\(first) \(name.rawValue) \(second)\(collation)"
        case .contains: return "instr(\(first), \(second)) > 0"
        case .beginsWith, .endsWith, .like, .matches:
            return "syncd_match(\(first), \(second), \(Self.code(name)), \(options.rawValue))"
        case .isIn, .between:
            throw ObjectError(.invalidPredicate, "\(name.rawValue) takes a list")
        }
    }

    /// A range of the index rather than a scan. U+10FFFF is not a character: no text with this
    /// prefix has it next.
    private mutating func begins(
        _ term: BoundTerm, with prefix: String, on alias: String
    ) throws -> String {
        let text = try self.term(term, on: alias)
        guard !prefix.isEmpty else { return "\(text) IS NOT NULL" }
        let low = bind(.text(prefix))
        let high = bind(.text(prefix + "\u{10FFFF}"))
        return "(\(text) >= \(low) COLLATE BINARY AND \(text) < \(high) COLLATE BINARY)"
    }

    static func code(_ name: FetchPredicate.Operator) -> Int {
        switch name {
        case .beginsWith: return 1
        case .endsWith: return 2
        case .like: return 3
        default: return 4
        }
    }

    private func folded(_ text: String, options: FetchPredicate.TextOptions) -> String {
        options.isEmpty ? text : "syncd_fold(\(text), \(options.rawValue))"
    }

    private mutating func isIn(
        _ term: BoundTerm, values: [Value], options: FetchPredicate.TextOptions, on alias: String
    ) throws -> String {
        guard options.isEmpty, !term.isComputedDecimal else {
            return try condition(
                .or(values.map { .compare(term, .equal, .value($0, term.kind), options) }),
                on: alias)
        }
        let text = try self.term(term, on: alias)
        let others = values.filter { $0 != .null }
        let marks = others.map { bind($0) }.joined(separator: ", ")
        let collation = term.kind == .text ? " COLLATE BINARY" : ""
        var parts: [String] = []
        if !others.isEmpty { parts.append("\(text)\(collation) IN (\(marks))") }
        if others.count < values.count { parts.append("\(text) IS NULL") }
        return parts.isEmpty ? "0" : "(" + parts.joined(separator: " OR ") + ")"
    }

    // MARK: Terms

    mutating func term(_ term: BoundTerm, on alias: String) throws -> String {
        switch term {
        case .value(let value, _): return bind(value)
        case .slot(let path, let entity, let slot, _):
            return try follow(path, from: alias) {
                try Self.column(of: entity, slot: slot, alias: $1)
            }
        case .key(let path, let entity):
            if let last = path.last, case .reference(let slot) = last.relation.storage {
                return try follow(path.dropLast(), from: alias) {
                    try Self.column(of: last.source, slot: slot, alias: $1)
                }
            }
            return try follow(path, from: alias) { try Self.key(of: entity, alias: $1) }
        case .count(let path, let relation, let inner):
            return "coalesce("
                + (try follow(path, from: alias) { sql, end in
                    try sql.members(of: relation, owner: end, select: "count(*)", where: inner)
                }) + ", 0)"
        case .aggregate(let path, let relation, let function, let slot, let kind):
            return try follow(path, from: alias) { sql, end in
                let member = sql.nextAlias()
                let column = try Self.column(of: relation.destination, slot: slot, alias: member)
                let isDecimal = kind == .decimal
                let value = isDecimal ? "CAST(\(column) AS REAL)" : column
                return try sql.members(
                    of: relation, owner: end, select: "\(function.sql)(\(value))", where: nil,
                    alias: member)
            }
        case .coalesce(let first, let second):
            return
                "coalesce(\(try self.term(first, on: alias)), \(try self.term(second, on: alias)))"
        case .when(let predicate, let term):
            let condition = try condition(predicate, on: alias)
            return "(CASE WHEN \(condition) THEN \(try self.term(term, on: alias)) END)"
        }
    }

    private mutating func nextAlias() -> String {
        aliases += 1
        return "t\(aliases)"
    }

    /// What `leaf` says of the object at the end of a path of to-one steps.
    private mutating func follow(
        _ path: some Collection<BoundRelation>, from alias: String,
        leaf: (inout PredicateSQL, String) throws -> String
    ) throws -> String {
        guard let step = path.first else { return try leaf(&self, alias) }
        let next = nextAlias()
        let inner = try follow(Array(path.dropFirst()), from: next, leaf: leaf)
        let table = SQLText.quoted(step.destination.table.name)
        let condition = try Self.link(step, from: alias, to: next)
        return "(SELECT \(inner) FROM \(table) \(next) WHERE \(condition))"
    }

    private mutating func exists(
        _ path: BoundPath, relation: BoundRelation, where inner: BoundPredicate, on alias: String
    ) throws -> String {
        let text = try follow(path, from: alias) { sql, end in
            let select = try sql.members(of: relation, owner: end, select: "1", where: inner)
            return "EXISTS \(select)"
        }
        return path.isEmpty ? text : "coalesce(\(text), 0)"
    }

    /// A subquery over the members of a to-many relationship.
    private mutating func members(
        of relation: BoundRelation, owner alias: String, select: String,
        where inner: BoundPredicate?,
        alias given: String? = nil
    ) throws -> String {
        let member = given ?? nextAlias()
        let table = SQLText.quoted(relation.destination.table.name)
        var from = "\(table) \(member)"
        let condition: String
        if case .join(let join, let isSource) = relation.relation.storage {
            let pair = nextAlias()
            let own = SQLText.quoted(isSource ? join.sourceColumn : join.targetColumn)
            let other = SQLText.quoted(isSource ? join.targetColumn : join.sourceColumn)
            from =
                "\(SQLText.quoted(join.table)) \(pair) JOIN \(from) ON "
                + "\(try Self.key(of: relation.destination, alias: member)) = \(pair).\(other)"
            condition = "\(pair).\(own) = \(try Self.key(of: relation.source, alias: alias))"
        } else {
            condition = try Self.link(relation, from: alias, to: member)
        }
        var text = "(SELECT \(select) FROM \(from) WHERE \(condition)"
        if let inner { text += " AND \(try self.condition(inner, on: member))" }
        return text + ")"
    }

    /// The condition under which `next` is what `alias` leads to.
    private static func link(
        _ step: BoundRelation, from alias: String, to next: String
    ) throws -> String {
        switch step.relation.storage {
        case .reference(let slot):
            let reference = try column(of: step.source, slot: slot, alias: alias)
            return "\(try key(of: step.destination, alias: next)) = \(reference)"
        case .inverse(_, let slot, _):
            let reference = try column(of: step.destination, slot: slot, alias: next)
            return "\(reference) = \(try key(of: step.source, alias: alias))"
        case .join:
            throw ObjectError(
                .unsupportedPredicate, "“\(step.relation.name)” leads to many objects")
        }
    }

    static func column(of entity: EntityLayout, slot: Int, alias: String) throws -> String {
        guard let column = entity.slots[slot].column else {
            throw ObjectError(
                .unsupportedPredicate, "“\(entity.slots[slot].name)” is not stored",
                hint: "Fetch without it and filter the objects", entity: entity.name,
                property: entity.slots[slot].name)
        }
        return "\(alias).\(SQLText.quoted(entity.table.columns[column].name))"
    }

    static func key(of entity: EntityLayout, alias: String) throws -> String {
        guard entity.table.key.count == 1 else {
            throw ObjectError(
                .unsupportedPredicate, "objects with composite keys cannot be compared",
                entity: entity.name)
        }
        return "\(alias).\(SQLText.quoted(entity.table.key[0].column))"
    }

    /// The terms of an ORDER BY.
    mutating func order(by keys: [BoundSortKey], on alias: String) throws -> [String] {
        var terms: [String] = []
        for key in keys {
            var text = folded(try term(key.term, on: alias), options: key.options)
            if key.term.kind == .decimal { text = "CAST(\(text) AS REAL)" }
            if key.term.kind == .text { text += " COLLATE BINARY" }
            terms.append(text + (key.isAscending ? "" : " DESC"))
        }
        return terms
    }
}
