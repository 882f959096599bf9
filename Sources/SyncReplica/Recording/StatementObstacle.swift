import SyncMerge

/// Why the first statement of a store needs a view of all its rows (``FirstStatement``).
enum StatementObstacle: String, Error, CaseIterable {
    /// Something is recorded already.
    case notFirst
    /// An index computes something from a number that is not part of the facts.
    case computedReference
    /// A CHECK names a reference to a key that is made of references.
    case checkedKeyOfKeys
    /// Keys refer to keys in a circle, or in a long chain.
    case keysOfKeys
    /// A value is shown otherwise than it was written.
    case changedValue
    /// Two rows have one identity.
    case sameIdentity

    /// What can be told from the schema alone; nil: nothing.
    /// - Complexity: O(columns)
    init?(in schema: MergeSchema) {
        if schema.entities.contains(where: \.computesReferences) {
            self = .computedReference
        } else if schema.entities.contains(where: { $0.checksKeysOfKeys(in: schema) }) {
            self = .checkedKeyOfKeys
        } else {
            return nil
        }
    }
}

extension MergeEntity {
    fileprivate func checksKeysOfKeys(in schema: MergeSchema) -> Bool {
        let checked = Set(checks.flatMap(\.columns))
        return references.contains { reference in
            let target = schema.entities[reference.target]
            return !checked.isDisjoint(with: reference.columns) && !target.isPrivate
                && target.references.contains { !Set($0.columns).isDisjoint(with: target.key) }
        }
    }
}
