import SyncMerge

/// A table of a random schema while it is being drawn.
struct EntityDraft {
    let name: String
    let isPrivate: Bool
    /// Whether its numbers are the same on every replica.
    var sharesNumbers = false
    var key: [Int] = []
    var uniques: [[Int]] = []
    var references: [MergeEntity.Reference] = []
    var defaults: [Int: Value] = [:]
    var policies: [Int: CellPolicy] = [:]
    var collations: [Int: Collation] = [:]
    var index: SimulatedIndex?
    var form = TableForm()
    /// How the foreign keys are declared, in the order of ``references``.
    var foreignKeys: [ForeignKeyForm] = []
    private(set) var roles: [SimulatedSchema.Role] = []
    private var columns: [(name: String, type: String, isRequired: Bool)] = []
    private var rules: [(rule: SimulatedCheck, columns: [Int])] = []

    init(name: String, isPrivate: Bool) {
        self.name = name
        self.isPrivate = isPrivate
    }

    /// The types and collations of the key's columns.
    var keyTypes: [(type: String, collation: Collation)] {
        key.map { (columns[$0].type, collations[$0] ?? .binary) }
    }

    mutating func addKey(_ name: String, role: SimulatedSchema.Role) {
        key.append(add(name, role: role, isRequired: true))
    }

    @discardableResult
    mutating func add(
        _ name: String, role: SimulatedSchema.Role, type: String? = nil, isRequired: Bool = false
    ) -> Int {
        let isText: Bool
        switch role {
        case .token, .text, .unique, .set, .lines: isText = true
        case .counter, .number, .extreme, .privateNumber, .any, .reference: isText = false
        }
        columns.append((name, type ?? (isText ? "TEXT" : "INTEGER"), isRequired))
        roles.append(role)
        return columns.count - 1
    }

    /// Declares a column with another type.
    mutating func setType(_ type: String, of column: Int) { columns[column].type = type }

    /// How many columns there are.
    var columnCount: Int { columns.count }

    /// The name of a column.
    func columnName(_ index: Int) -> String { columns[index].name }

    mutating func addCheck(_ rule: SimulatedCheck, on columns: [Int]) {
        rules.append((rule, columns))
    }

    /// The columns whose CHECK demands lower case.
    var lowerColumns: Set<Int> {
        Set(
            rules.flatMap { rule -> [Int] in
                if case .lower = rule.rule { return rule.columns }
                return []
            })
    }

    func entity(
        deleteWins: Bool, uniquePolicy: UniquePolicy
    ) -> MergeEntity {
        MergeEntity(
            name: name,
            columns: columns.indices.map { index in
                MergeEntity.Column(
                    columns[index].name, isRequired: columns[index].isRequired,
                    defaultValue: defaults[index] ?? .null,
                    collation: collations[index] ?? .binary,
                    isRenameable: roles[index] == .unique)
            },
            key: key,
            identity: sharesNumbers ? .sharedNumber : isPrivate ? .privateNumber : .key,
            uniques: uniques,
            claims: index.map { [$0.claim] } ?? [],
            references: references,
            checks: rules.map { rule in
                let collation = collations[rule.columns[0]] ?? .binary
                return .init(rule.columns) {
                    rule.rule.accepts($0, comparedBy: collation)
                }
            },
            deletePolicy: deleteWins ? .deleteWins : .editWins,
            uniquePolicy: uniquePolicy, columnPolicies: policies)
    }

    func sql(_ drafts: [EntityDraft]) -> String {
        func names(_ places: [Int], of draft: EntityDraft) -> String {
            places.map { draft.columns[$0].name }.joined(separator: ",")
        }
        let own = columns.enumerated().map { index, column in
            if isPrivate && key == [index] {
                return "\(column.name) INTEGER PRIMARY KEY\(form.keySuffix)"
            }
            return "\(column.name) \(column.type)" + (column.isRequired ? " NOT NULL" : "")
                + (defaults[index].map { " DEFAULT \($0.simpleLiteral)" } ?? "")
                + (collations[index].map { " COLLATE \($0.name)" } ?? "")
        }
        var parts = form.columns(own)
        if !isPrivate { parts.append("PRIMARY KEY(\(names(key, of: self)))") }
        parts += uniques.map { "UNIQUE(\(names($0, of: self)))" }
        parts += rules.map { rule in
            let names = rule.columns.map { columns[$0].name }
            return "CHECK(\(rule.rule.sql(names[0], names[1])))"
        }
        for (reference, form) in zip(references, foreignKeys) {
            let target = drafts[reference.target]
            parts.append(
                "FOREIGN KEY(\(names(reference.columns, of: self))) REFERENCES \(target.name)"
                    + "(\(names(target.key, of: target)))\(form.sql(reference.onDelete))")
        }
        return "CREATE TABLE \(name)(\(parts.joined(separator: ", ")))\(form.suffix)"
    }
}

extension MergeEntity.Reference.Action {
    /// The action as SQL writes it.
    package var sql: String {
        switch self {
        case .cascade: return "CASCADE"
        case .setNull: return "SET NULL"
        case .setDefault: return "SET DEFAULT"
        case .restrict: return "RESTRICT"
        }
    }
}

extension Value {
    /// The value as SQL, for the texts without quotes and the numbers that schemas are drawn with.
    fileprivate var simpleLiteral: String {
        if case .text(let text) = self { return "'\(text)'" }
        return description
    }
}
