import SyncValues

/// Assigns an identity to every committed row, and converts rows to fields: references by identity.
package struct IdentityAssignment {
    /// The identity of each row.
    private(set) var names: [RowKey: ObjectUID] = [:]
    /// The rows that are new, in the order in which they got their identities.
    private(set) var fresh: [Commit.Row] = []

    private let schema: MergeSchema
    private let committed: Set<RowKey>
    /// Boundary rows of the region, which no transaction wrote: the fields that the view shows.
    private var bystanders: [RowKey: [Field]] = [:]
    /// What the view shows of references in columns that refer to nothing here.
    private var kept: [RowKey: [KeptReference]] = [:]
    /// The columns of references that hold a value which led to nothing where it was written, and
    /// that nobody has written since. What has come there meanwhile is not what it meant.
    private var loose: [RowKey: Set<Int>] = [:]
    /// By identity; found when first needed.
    private var keys: [ObjectUID: RowKey] = [:]
    private let isKnown: (ObjectUID) -> Bool

    /// A reference of another replica, in a column that has no foreign key here, or one to a table
    /// that is not here.
    private struct KeptReference {
        let column: Int
        let field: Field
        /// What the row shows for it: the key of what it leads to, or else NULL.
        let shown: Value

        /// Whether the commit wrote the column; nil: not known.
        let isWritten: Bool?

        /// Whether nobody wrote the column, as far as that is known: the row still shows the
        /// reference then, converted to the type of the column.
        func isKept(as value: Value) -> Bool {
            if let isWritten { return !isWritten }
            guard case .integer(let number) = shown else { return value == shown }
            switch value {
            case .text(let text): return text == String(number)
            case .real(let real): return real == Double(number)
            default: return value == shown
            }
        }
    }

    /// Assigns the identities of the rows of a commit.
    /// - Parameters:
    ///   - before: the identities of the rows that `view` shows.
    ///   - newUID: the identity of a new row whose key is private.
    /// - Throws: `internalFault` when keys refer to each other in a circle.
    init(
        _ commit: Commit, state: MergeState, view: View, before: [RowKey: ObjectUID],
        newUID: (RowKey) -> ObjectUID
    ) throws {
        schema = state.schema
        committed = Set(commit.rows.map(\.key))
        isKnown = { state.objects[$0] != nil }
        var waiting: [Commit.Row] = []
        for row in commit.rows {
            let isPrivate = schema.entities[row.key.entity].isPrivate
            if let name = before[row.key] {
                names[row.key] = name
                if state.boundaryRows.contains(name), let shown = view.rows[name] {
                    bystanders[row.key] = shown.fields
                }
                noteKept(of: row, in: commit, as: view.rows[name], before: before, view: view)
            } else if isPrivate, let old = commit.rekeyed[row.key], let name = before[old] {
                names[row.key] = name  // only the private number changed
                noteKept(of: row, in: commit, as: view.rows[name], before: before, view: view)
            } else if isPrivate {
                names[row.key] = newUID(row.key)
                fresh.append(row)
            } else {
                waiting.append(row)
            }
        }
        guard !waiting.isEmpty else { return }
        let aliased = state.aliased
        var used = Set(names.values)
        while !waiting.isEmpty {  // keys made of references: their targets first
            var blocked: [Commit.Row] = []
            for row in waiting {
                guard let key = keyFields(of: row) else {
                    blocked.append(row)
                    continue
                }
                let entity = schema.entities[row.key.entity]
                let name = (0...).lazy.map {
                    NaturalIdentity.uid(of: entity, key: key, generation: $0)
                }.first {
                    !aliased.contains($0) && view.shownAs[$0] == nil && !used.contains($0)
                }
                guard let name else { break }
                used.insert(name)
                names[row.key] = name
                fresh.append(row)
            }
            guard blocked.count < waiting.count else {
                throw SyncError(
                    .internalFault, "the keys of \(blocked.count) rows refer to each other")
            }
            waiting = blocked
        }
    }

    private mutating func noteKept(
        of row: Commit.Row, in commit: Commit, as shown: ShownRow?,
        before: [RowKey: ObjectUID], view: View
    ) {
        // All of a row that was inserted again is written.
        guard let shown, !commit.recreated.contains(row.key) else { return }
        let entity = schema.entities[shown.entity]
        let isKnown = commit.areDatesKnown && !commit.guessed.contains(row.key)
        let written = isKnown ? commit.dates.written[row.key] ?? [:] : nil
        if let written, commit.dates.row(row.key).inserted == nil {
            for reference in entity.references {
                for column in reference.columns
                where written[column] == nil && shown.fields[column] == .value(row.values[column]) {
                    loose[row.key, default: []].insert(column)
                }
            }
        }
        for (column, field) in shown.fields.enumerated() {
            guard case .reference(let uid, let part) = view.resolved(field),
                !entity.references.contains(where: { $0.columns.contains(column) })
            else { continue }
            if keys.isEmpty {
                for (key, name) in before { keys[name] = key }
            }
            let values = keys[uid]?.values ?? []
            kept[row.key, default: []].append(
                KeptReference(
                    column: column, field: field,
                    shown: values.indices.contains(part) ? values[part] : .null,
                    isWritten: written.map { $0[column] != nil }))
        }
    }

    /// The key with its references by identity; nil while a target has no identity yet.
    private func keyFields(of row: Commit.Row) -> [Field]? {
        let entity = schema.entities[row.key.entity]
        var fields = row.values.map(Field.value)
        for reference in entity.references
        where reference.columns.allSatisfy(entity.key.contains) {
            guard let key = targetKey(of: reference, in: row) else { continue }
            if let name = target(of: reference, key: key) {
                Self.refer(reference, to: name, in: &fields)
            } else if names[key] == nil, committed.contains(key) {
                return nil
            }
        }
        return entity.key.map { fields[$0] }
    }

    /// A row with its references by identity. A reference to a row that does not exist (written
    /// with foreign keys off) stays a plain value; a private number is NULL. A boundary row keeps
    /// its references to rows outside of the region, whose keys are not known here; and a column
    /// that refers to nothing here keeps what it has from another replica until somebody writes
    /// it: nobody wrote what the row shows instead.
    func fields(of row: Commit.Row) -> [Field] {
        let entity = schema.entities[row.key.entity]
        var fields = row.values.map(Field.value)
        if entity.hasPrivateNumbers { fields[entity.key[0]] = .value(.null) }
        for reference in entity.references {
            guard let key = targetKey(of: reference, in: row) else { continue }
            if let columns = loose[row.key], columns.isSuperset(of: reference.columns) { continue }
            if let name = target(of: reference, key: key) {
                Self.refer(reference, to: name, in: &fields)
            } else if let shown = bystanders[row.key],
                let target = shown[reference.columns[0]].target, !isKnown(target)
            {
                for column in reference.columns { fields[column] = shown[column] }
            }
        }
        for reference in kept[row.key] ?? []
        where reference.isKept(as: row.values[reference.column]) {
            fields[reference.column] = reference.field
        }
        return fields
    }

    /// The row that a reference names. Where a claim tells apart what the target's key calls equal,
    /// only the target's own spelling names it: two rows would claim one value otherwise.
    private func target(of reference: MergeEntity.Reference, key: RowKey) -> ObjectUID? {
        guard let place = names.index(forKey: key) else { return nil }
        let (spelled, name) = names[place]
        return reference.isExact && spelled.values != key.values ? nil : name
    }

    private func targetKey(of reference: MergeEntity.Reference, in row: Commit.Row) -> RowKey? {
        let values = reference.columns.map { row.values[$0] }
        return values.contains(.null) ? nil : schema.key(reference.target, values)
    }

    private static func refer(
        _ reference: MergeEntity.Reference, to name: ObjectUID, in fields: inout [Field]
    ) {
        for (part, column) in reference.columns.enumerated() {
            fields[column] = .reference(name, part: part)
        }
    }
}
