import SyncCore

/// Writes bound predicates as SQL, so that SQLite can use its indexes.
///
/// Conditions on the row itself are plain comparisons of columns; relationships become correlated
/// subqueries on keys and indexed references. Comparisons of text name the BINARY collation,
/// whatever the column's own: what is equal in memory is equal in SQL.
///
/// SQLite's parser has a stack of 100 entries in many versions, and takes expressions of at most
/// 1,000 levels (<https://sqlite.org/limits.html>). So the entries that are open at each place are
/// counted (``nested(_:_:)``), and what has many parts is written as a tree of groups.
struct PredicateSQL {
    private(set) var arguments: [Value] = []
    private var aliases = 0
    /// Values are written into the text, for SQL that is stored.
    var inlinesValues = false

    /// The entries of the parser's stack that the text around the present place takes at most.
    private var open = 0
    /// The rest of the 100 is for the statement around the condition and for the innermost term.
    private static let openMax = 70
    /// Longer chains of AND and OR are written as groups of groups.
    private static let groupMax = 16
    /// Further values are written into the text: SQLite has 32,766 parameters.
    private static let argumentsMax = 32_000

    init(inlinesValues: Bool = false) { self.inlinesValues = inlinesValues }

    /// The condition for rows of `alias`.
    mutating func condition(_ predicate: BoundPredicate, on alias: String) throws -> String {
        switch predicate {
        case .constant(let value): return value ? "1" : "0"
        case .and(let parts): return try join(parts, separator: " AND ", empty: "1", on: alias)
        case .or(let parts): return try join(parts, separator: " OR ", empty: "0", on: alias)
        case .not(let inner):
            return "(\(try nested(1) { try $0.condition(inner, on: alias) })) IS NOT TRUE"
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
        var groups = 1
        while groups * Self.groupMax < parts.count { groups *= Self.groupMax }
        var texts: [String] = []
        try nested(Entries.chain) { sql in
            for start in stride(from: 0, to: parts.count, by: groups) {
                let end = min(start + groups, parts.count)
                texts.append(
                    groups == 1
                        ? try sql.condition(parts[start], on: alias)
                        : try sql.join(
                            Array(parts[start..<end]), separator: word, empty: empty, on: alias))
            }
        }
        return "(" + texts.joined(separator: word) + ")"
    }

    /// What a text opens around an inner one, in entries of the parser's stack.
    private enum Entries {
        /// `(left AND`
        static let chain = 3
        /// `f(first,`
        static let call = 5
        /// `(CASE WHEN condition THEN`
        static let choice = 6
        /// `(SELECT`
        static let step = 4
        /// `EXISTS (SELECT 1 FROM t WHERE link AND`
        static let members = 9
    }

    /// Writes an inner text, around which `entries` more are open.
    /// - Throws: ``ObjectError/Code/invalidPredicate`` when SQLite could not read it.
    private mutating func nested<Text>(
        _ entries: Int, _ inner: (inout Self) throws -> Text
    ) throws -> Text {
        open += entries
        defer { open -= entries }
        guard open <= Self.openMax else { throw FetchPredicate.tooDeep }
        return try inner(&self)
    }

    mutating func bind(_ value: Value) -> String {
        if inlinesValues || arguments.count >= Self.argumentsMax { return value.description }
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
        var (first, second) = try nested(Entries.call) { sql in
            (
                sql.folded(try sql.term(left, on: alias), options: options),
                sql.folded(try sql.term(right, on: alias), options: options)
            )
        }
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
        // The term would bind a value that no text has.
        guard !values.isEmpty else { return "0" }
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
        return "(" + parts.joined(separator: " OR ") + ")"
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
            let count = try nested(Entries.call) { sql in
                try sql.follow(path, from: alias) { sql, end in
                    try sql.members(of: relation, owner: end, select: "count(*)", where: inner)
                }
            }
            return "coalesce(\(count), 0)"
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
            return try nested(Entries.call) { sql in
                "coalesce(\(try sql.term(first, on: alias)), \(try sql.term(second, on: alias)))"
            }
        case .when(let predicate, let term):
            return try nested(Entries.choice) { sql in
                let condition = try sql.condition(predicate, on: alias)
                return "(CASE WHEN \(condition) THEN \(try sql.term(term, on: alias)) END)"
            }
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
        let inner = try nested(Entries.step) { sql in
            try sql.follow(Array(path.dropFirst()), from: next, leaf: leaf)
        }
        let table = SQLText.quoted(step.destination.table.name)
        let condition = try Self.link(step, from: alias, to: next)
        return "(SELECT \(inner) FROM \(table) \(next) WHERE \(condition))"
    }

    private mutating func exists(
        _ path: BoundPath, relation: BoundRelation, where inner: BoundPredicate, on alias: String
    ) throws -> String {
        let text = try nested(path.isEmpty ? 0 : Entries.call) { sql in
            try sql.follow(path, from: alias) { sql, end in
                let select = try sql.members(of: relation, owner: end, select: "1", where: inner)
                return "EXISTS \(select)"
            }
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
        if let inner {
            let condition = try nested(Entries.members) { try $0.condition(inner, on: member) }
            text += " AND \(condition)"
        }
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
