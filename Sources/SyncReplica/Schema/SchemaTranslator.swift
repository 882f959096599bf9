import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Translates the schema of tables into the schema for merging: cells, claims, references, CHECKs.
struct SchemaTranslator {
    let tables: [TableSchema]
    let positions: [String: Int]
    let policies: MergePolicies
    let rules: RuleDatabase

    /// Translates a table.
    /// - Throws: `cannotTrack` for a foreign key that cannot be merged.
    mutating func entity(_ table: TableSchema) throws -> MergeEntity {
        let policy = policies.policy(of: table.name)
        let names = table.storedColumns.map(\.name)
        let places = Places(names)
        let key = table.key.compactMap { places[$0] }
        let references = try references(of: table, places: places, policy: policy)
        // A key that is a reference (a profile under the number of its user) is no private number.
        let isPrivate =
            table.isIntegerKey && policy.identity != .key
            && !references.contains { !Set($0.columns).isDisjoint(with: key) }
        let checks = checks(of: table, places: places)
        let tied = Set(references.flatMap(\.columns) + checks.flatMap(\.columns) + key)
        let uniques = table.alternateKeys.filter { !$0.isExpression && !$0.isPartial }
        let columns = table.storedColumns.enumerated().map { position, column in
            MergeEntity.Column(
                column.name, isRequired: column.isNotNull,
                defaultValue: rules.constant(
                    column.defaultSQL, table: table.name, column: column.name),
                collation: collation(of: column, in: table),
                isRenameable: column.affinity == .text && !tied.contains(position))
        }
        return MergeEntity(
            name: table.name, columns: columns, key: key,
            identity: isPrivate ? .privateNumber : .key,
            uniques: uniques.map { index in
                index.terms.compactMap { $0.column.flatMap { places[$0] } }
            },
            references: references, checks: checks,
            deletePolicy: policy.deletes ?? .deleteWins,
            uniquePolicy: policy.unique ?? .merge,
            isWhole: policy.properties == .object,
            policy: (policy.properties ?? .lastWriter).cellPolicy,
            columnPolicies: columnPolicies(
                of: table, places: places, chosen: policy.columns ?? [:],
                tied: tied.union(
                    table.uniqueIndexes.flatMap(\.terms).compactMap {
                        $0.column.flatMap { places[$0] }
                    })))
    }

    /// The policies of single columns that are possible: a column whose versions become one value
    /// must have no constraint.
    private func columnPolicies(
        of table: TableSchema, places: Places, chosen columns: [String: CellPolicy],
        tied: Set<Int>
    ) -> [Int: CellPolicy] {
        let isFree = !table.uniqueIndexes.contains(where: \.isExpression)
        var policies: [Int: CellPolicy] = [:]
        for (name, policy) in columns {
            guard let place = places[name] else { continue }
            if policy.isBlending, tied.contains(place) || !isFree { continue }
            policies[place] = policy
        }
        return policies
    }

    /// The collation by which UNIQUE compares: that of the index where there is one.
    private func collation(of column: ColumnSchema, in table: TableSchema) -> Collation {
        let terms = table.uniqueIndexes.flatMap(\.terms)
        let name =
            terms.first { SQLName.isEqual($0.column ?? "", to: column.name) }?.collation
            ?? column.collation
        if SQLName.isEqual(name, to: "NOCASE") { return .nocase }
        return SQLName.isEqual(name, to: "RTRIM") ? .rtrim : .binary
    }

    // MARK: References

    private func references(
        of table: TableSchema, places: Places, policy: MergePolicies.EntityPolicy
    ) throws -> [MergeEntity.Reference] {
        var references: [MergeEntity.Reference] = []
        var used: Set<Int> = []
        for foreignKey in table.foreignKeys {
            guard let position = positions[SQLName.folded(foreignKey.parent)] else { continue }
            let parent = tables[position]
            let names = foreignKey.parentColumns.isEmpty ? parent.key : foreignKey.parentColumns
            let columns = foreignKey.columns.compactMap { places[$0] }
            guard columns.count == foreignKey.columns.count else { continue }
            let ordered = parent.key.compactMap { part in
                names.firstIndex { SQLName.isEqual($0, to: part) }.map { columns[$0] }
            }
            guard ordered.count == parent.key.count, names.count == ordered.count else {
                throw refusal(
                    of: table,
                    "\(foreignKey.columns.joined(separator: ", ")) refers to columns of "
                        + "\(parent.name) that are not its primary key")
            }
            // The same reference declared twice is one; two that share a column cannot be merged.
            if references.contains(where: { $0.columns == ordered && $0.target == position }) {
                continue
            }
            guard used.isDisjoint(with: ordered) else {
                throw refusal(of: table, "two of its foreign keys share a column")
            }
            used.formUnion(ordered)
            references.append(
                .init(ordered, to: position, onDelete: Self.action(foreignKey.onDelete)))
        }
        for (column, target) in (policy.references ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let place = places[column], let position = positions[SQLName.folded(target)],
                tables[position].key.count == 1, !used.contains(place)
            else {
                throw refusal(of: table, "the reference \(column) to \(target) cannot be declared")
            }
            used.insert(place)
            references.append(.init([place], to: position, onDelete: .setNull))
        }
        return references
    }

    private static func action(_ action: ForeignKeySchema.Action) -> MergeEntity.Reference.Action {
        switch action {
        case .cascade: return .cascade
        case .setNull: return .setNull
        case .setDefault: return .setDefault
        case .restrict, .noAction: return .restrict
        }
    }

    private func refusal(of table: TableSchema, _ reason: String) -> SyncError {
        SyncError(
            .cannotTrack, "\(table.name) cannot be merged: \(reason)",
            hint: "Change the table's foreign keys, or leave it out: synctool track --without")
    }

    // MARK: Checks

    private func checks(of table: TableSchema, places: Places) -> [MergeEntity.Check] {
        table.checks.map { sql in
            let named = Set(SQLTokens(sql).tokens.compactMap { places[SQLName.unquoted($0.text)] })
            let columns = named.sorted()
            let names = columns.map { table.storedColumns[$0].name }
            let (rules, name) = (rules, table.name)
            return MergeEntity.Check(columns) { fields in
                rules.accepts(
                    sql, table: name, columns: names, values: fields.map(Self.placeholder))
            }
        }
    }

    /// A private number is replaced by the same number wherever it is in a row, and by different
    /// numbers for different objects.
    private static func placeholder(_ field: Field) -> Value {
        switch field {
        case .value(let value): return value
        case .reference(let uid, _): return .integer(Int64(uid.low >> 1))
        }
    }
}

/// Positions of columns by name, as SQLite compares names.
private struct Places {
    private let places: [String: Int]

    init(_ names: [String]) {
        places = Dictionary(zip(names.map(SQLName.folded), names.indices)) { first, _ in first }
    }

    subscript(name: String) -> Int? { places[SQLName.folded(name)] }
}

extension SQLName {
    /// A name without its quotes.
    static func unquoted(_ token: String) -> String {
        guard let first = token.first, "\"`['".contains(first), token.count > 1 else {
            return token
        }
        let doubled = "\(first)\(first)"
        return token.dropFirst().dropLast()
            .split(separator: doubled, omittingEmptySubsequences: false)
            .joined(separator: String(first))
    }
}
