import SyncValues

extension MergeEntity {
    /// A column.
    package struct Column: Sendable {
        /// Its name.
        package let name: String
        /// Whether it is NOT NULL.
        package let isRequired: Bool
        /// Its DEFAULT, where it is a constant.
        package let defaultValue: Value
        /// How UNIQUE compares its values.
        package let collation: Collation
        /// Whether its values may be shown with a suffix: text that no constraint but UNIQUE names.
        package let isRenameable: Bool
        /// What a STRICT table stores in it; nil: anything.
        package let type: StoredType?

        /// Describes a column.
        package init(
            _ name: String, isRequired: Bool = false, defaultValue: Value = .null,
            collation: Collation = .binary, isRenameable: Bool = false, type: StoredType? = nil
        ) {
            self.name = name
            self.isRequired = isRequired
            self.defaultValue = defaultValue
            self.collation = collation
            self.isRenameable = isRenameable
            self.type = type
        }
    }

    /// A foreign key, or a declared reference.
    package struct Reference: Sendable {
        /// What the deletion of the target means.
        package enum Action: Sendable, Hashable {
            /// The row is deleted, too.
            case cascade
            /// The columns become NULL.
            case setNull
            /// The columns become their default.
            case setDefault
            /// The target stays as long as the row exists: RESTRICT and NO ACTION.
            case restrict
        }

        /// The columns, in the order of the target's key.
        package let columns: [Int]
        /// Position of the target entity in the schema.
        package let target: Int
        /// What the deletion of the target means.
        package let onDelete: Action
        /// Whether only the own spelling of a key is a reference to it: where a UNIQUE compares a
        /// column by another collation than the key does, and on the way from there to the key that
        /// spells it.
        package fileprivate(set) var isExact = false

        /// Describes a foreign key.
        package init(_ columns: [Int], to target: Int, onDelete: Action) {
            self.columns = columns
            self.target = target
            self.onDelete = onDelete
        }
    }

    /// A CHECK constraint.
    package struct Check: Sendable {
        /// The columns that it names.
        package let columns: [Int]
        /// Whether these values, one per column, pass. A reference among them denotes a private
        /// number: it may be compared with another reference and with NULL, and with nothing else.
        package let accepts: @Sendable ([Field]) -> Bool

        /// Describes a CHECK.
        package init(_ columns: [Int], accepts: @escaping @Sendable ([Field]) -> Bool) {
            self.columns = columns
            self.accepts = accepts
        }
    }
}

extension MergeEntity {
    /// The entities, with the references that name a key in its own spelling alone.
    ///
    /// Where the key of such a reference is itself a reference to a key with spellings, that one is
    /// exact, too: how a row spells another reference is no fact, so that a view would spell the
    /// key otherwise than the row that it refers to.
    /// - Complexity: O(references), for each key on the longest way of references between keys
    static func withExactReferences(_ entities: [MergeEntity]) -> [MergeEntity] {
        var entities = entities
        for (position, entity) in entities.enumerated() {
            let claimed = Set(entity.claims.flatMap(\.columns))
            for (place, reference) in entity.references.enumerated() {
                let target = entities[reference.target]
                entities[position].references[place].isExact =
                    zip(reference.columns, target.key).contains { column, key in
                        claimed.contains(column)
                            && entity.columns[column].collation != target.columns[key].collation
                    }
            }
        }
        var work = entities.indices.filter { entities[$0].references.contains(where: \.isExact) }
        while let position = work.popLast() {
            for reference in entities[position].references where reference.isExact {
                let target = reference.target
                let spelled = entities[target].key.filter {
                    entities[target].columns[$0].collation != .binary
                }
                for place in entities[target].references.indices
                where !entities[target].references[place].isExact
                    && entities[target].references[place].columns.contains(where: spelled.contains)
                {
                    entities[target].references[place].isExact = true
                    work.append(target)
                }
            }
        }
        return entities
    }
}

extension MergeEntity {
    /// Whether a column refers to a key in its own spelling alone.
    package func isExact(_ column: Int) -> Bool {
        references.contains { $0.isExact && $0.columns.contains(column) }
    }

    /// The columns of references that a claim depends on and that hold the number of a row, also as
    /// a part of the key of another one.
    func claimedNumberColumns(in entities: [MergeEntity]) -> [Int] {
        let claimed = Set(claims.flatMap(\.columns))
        return claimed.filter { holdsNumber($0, in: entities) }.sorted()
    }

    /// Whether a column refers to a row by its number, also by way of the key of another one.
    /// - Parameter depth: how many keys that refer to each other were followed.
    package func holdsNumber(
        _ column: Int, in entities: [MergeEntity], depth: Int = 0
    ) -> Bool {
        references.contains { reference in
            guard depth < entities.count, let part = reference.columns.firstIndex(of: column)
            else { return false }
            let target = entities[reference.target]
            return target.isPrivate
                || target.holdsNumber(target.key[part], in: entities, depth: depth + 1)
        }
    }
}
