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
    func translated(_ table: TableSchema) throws -> (entity: MergeEntity, claims: TableClaims) {
        let policy = policies.policy(of: table.name)
        let places = ColumnUse(table)
        let key = table.key.compactMap { places[$0] }
        let references = try references(of: table, places: places, policy: policy)
        // A key that is a reference (a profile under the number of its user) is no private number.
        let isPrivate =
            table.isIntegerKey && policy.identity != .key
            && !references.contains { !Set($0.columns).isDisjoint(with: key) }
        let checks = checks(of: table, places: places)
        let tied = Set(references.flatMap(\.columns) + checks.flatMap(\.columns) + key)
        let claims = TableClaims(
            table, uses: places, rules: rules, privateNumber: isPrivate ? key.first : nil)
        let columns = table.storedColumns.enumerated().map { position, column in
            MergeEntity.Column(
                column.name, isRequired: column.isNotNull,
                defaultValue: rules.constant(
                    column.defaultSQL, table: table.name, column: column.name),
                collation: collation(of: column, in: table),
                isRenameable: column.affinity == .text && !tied.contains(position),
                type: table.isStrict ? StoredType(column.declaredType) : nil)
        }
        let entity = MergeEntity(
            name: table.name, columns: columns, key: key,
            identity: !isPrivate
                ? .key : policy.identity == .shared ? .sharedNumber : .privateNumber,
            claims: claims.items.map(\.claim),
            references: references, checks: checks,
            deletePolicy: policy.deletes ?? .deleteWins,
            uniquePolicy: policy.unique ?? .merge,
            isWhole: policy.properties == .object,
            policy: (policy.properties ?? .lastWriter).cellPolicy,
            columnPolicies: columnPolicies(
                of: table, places: places, chosen: policy.columns ?? [:],
                tied: tied.union(claims.items.flatMap(\.claim.columns)),
                isFree: !claims.isIncomplete))
        return (entity, claims)
    }

    /// The policies of single columns that are possible: a column whose versions become one value
    /// must have no constraint.
    private func columnPolicies(
        of table: TableSchema, places: ColumnUse, chosen columns: [String: CellPolicy],
        tied: Set<Int>, isFree: Bool
    ) -> [Int: CellPolicy] {
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
        return Collation(name) ?? .binary
    }

    // MARK: References

    private func references(
        of table: TableSchema, places: ColumnUse, policy: MergePolicies.EntityPolicy
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
            hint: "Change the table's foreign keys, or track the other tables alone: "
                + "synctool untrack DB, then for each of them: synctool track DB --entity NAME")
    }

    // MARK: Checks

    private func checks(of table: TableSchema, places: ColumnUse) -> [MergeEntity.Check] {
        table.checks.map { sql in
            let columns = places.columns(namedIn: sql)
            let names = columns.map { table.storedColumns[$0].name }
            let (rules, name) = (rules, table.name)
            return MergeEntity.Check(columns) { fields in
                rules.accepts(
                    sql, table: name, columns: names, values: fields.map(\.placeholder))
            }
        }
    }
}

extension StoredType {
    /// The type that a column of a STRICT table declares; nil: ANY.
    fileprivate init?(_ declared: String) {
        switch declared.uppercased() {
        case "INT", "INTEGER": self = .integer
        case "REAL": self = .real
        case "TEXT": self = .text
        case "BLOB": self = .blob
        default: return nil
        }
    }
}
