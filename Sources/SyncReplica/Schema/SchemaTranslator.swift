import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Translates the schema of tables into the schema for merging: cells, claims, references, CHECKs.
struct SchemaTranslator {
    let tables: [TableSchema]
    /// By folded present name.
    let positions: [String: Int]
    let names: SchemaNames
    let policies: MergePolicies
    let rules: RuleDatabase

    /// Translates a table.
    /// - Throws: `cannotTrack` for a foreign key that cannot be merged.
    func translated(_ table: TableSchema) throws -> (entity: MergeEntity, claims: TableClaims) {
        let identity = names.identity(ofTable: table.name)
        let policy = policies.policy(of: identity)
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
                names.identity(ofColumn: column.name, table: table.name),
                isRequired: column.isNotNull,
                defaultValue: rules.constant(
                    column.defaultSQL, table: table.name, column: column.name),
                collation: collation(of: column, in: table),
                isRenameable: column.affinity == .text && !tied.contains(position),
                type: table.isStrict ? StoredType(column.declaredType) : nil)
        }
        let entity = MergeEntity(
            name: identity, columns: columns, key: key,
            identity: !isPrivate
                ? .key : policy.identity == .shared ? .sharedNumber : .privateNumber,
            claims: claims.items.map(\.claim),
            references: references, checks: checks,
            deletePolicy: policy.deletes ?? .deleteWins,
            uniquePolicy: policy.unique ?? .merge,
            isWhole: policy.properties == .object,
            policy: (policy.properties ?? .lastWriter).cellPolicy,
            columnPolicies: columnPolicies(
                columns: columns, chosen: policy.columns ?? [:],
                tied: tied.union(claims.items.flatMap(\.claim.columns)),
                isFree: !claims.isIncomplete))
        return (entity, claims)
    }

    /// The policies of single columns that are possible: a column whose versions become one value
    /// must have no constraint.
    private func columnPolicies(
        columns: [MergeEntity.Column], chosen: [String: CellPolicy], tied: Set<Int>, isFree: Bool
    ) -> [Int: CellPolicy] {
        var policies: [Int: CellPolicy] = [:]
        for (identity, policy) in chosen {
            guard let place = columns.firstIndex(where: { SQLName.isEqual($0.name, to: identity) })
            else { continue }
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
        let declared = DeclaredReferences(of: table, among: tables, positions: positions)
        if let problem = declared.problem { throw refusal(of: table, problem) }
        var references = declared.references
        var used = Set(references.flatMap(\.columns))
        for (column, target) in (policy.references ?? [:]).sorted(by: { $0.key < $1.key }) {
            let name = names.name(ofColumn: column, of: names.identity(ofTable: table.name))
            guard let place = places[name] else {
                throw undeclarable(
                    column, of: table, to: target, "\(table.name) has no such column",
                    among: table.columns.map(\.name))
            }
            guard let position = positions[SQLName.folded(names.name(ofEntity: target))] else {
                throw undeclarable(
                    column, of: table, to: target, "the store tracks no such table",
                    among: tables.map(\.name))
            }
            guard tables[position].key.count == 1 else {
                throw undeclarable(
                    column, of: table, to: target,
                    "its key has \(tables[position].key.count) columns")
            }
            guard used.insert(place).inserted else {
                throw undeclarable(
                    column, of: table, to: target, "the column is part of a foreign key already")
            }
            if isInCircle(table, key: place) { continue }
            references.append(.init([place], to: position, onDelete: .setNull))
        }
        return references
    }

    private func undeclarable(
        _ column: String, of table: TableSchema, to target: String, _ reason: String,
        among known: [String] = []
    ) -> SyncError {
        SyncError(
            .cannotTrack, "\(table.name).\(column) cannot refer to \(target): \(reason)",
            hint: (known.isEmpty ? "" : "There are: \(known.joined(separator: ", ")). ")
                + "To see what was chosen: synctool policy DB")
    }

    /// Whether a declared reference makes keys refer to each other in a circle (``KeyCircles``). It
    /// is left out: ``PolicyCheck`` refuses it where it is set.
    private func isInCircle(_ table: TableSchema, key place: Int) -> Bool {
        guard table.key.count == 1, ColumnUse(table)[table.key[0]] == place,
            let position = positions[SQLName.folded(table.name)]
        else { return false }
        var targets: [Int: Int] = [:]
        for (position, table) in tables.enumerated() {
            let declared = DeclaredReferences(of: table, among: tables, positions: positions)
            targets[position] = declared.target(ofKey: table) ?? chosenTarget(ofKey: table)
        }
        return KeyCircles(targets: targets).circle(from: position) != nil
    }

    /// The table that a policy makes the key of a table refer to.
    private func chosenTarget(ofKey table: TableSchema) -> Int? {
        guard table.key.count == 1 else { return nil }
        let identity = names.identity(ofTable: table.name)
        let chosen = policies.policy(of: identity).references?.first {
            SQLName.isEqual(names.name(ofColumn: $0.key, of: identity), to: table.key[0])
        }
        return chosen.flatMap { positions[SQLName.folded(names.name(ofEntity: $0.value))] }
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
