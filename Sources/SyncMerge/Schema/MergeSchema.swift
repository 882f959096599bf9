/// The entities of a store, as merging sees them.
package struct MergeSchema: Sendable {
    /// In an order that is the same on every replica with this schema: references and facts name
    /// entities by position.
    package let entities: [MergeEntity]
    /// Whether an entity has shared numbers.
    package let sharesNumbers: Bool

    /// Describes a store.
    package init(_ entities: [MergeEntity]) {
        for entity in entities {
            for reference in entity.references {
                precondition(
                    entities[reference.target].key.count == reference.columns.count,
                    "a reference has one column per key column of its target")
            }
        }
        sharesNumbers = entities.contains(where: \.sharesNumbers)
        let entities = MergeEntity.withExactReferences(entities)
        self.entities = entities.map { entity in
            var entity = entity
            entity.spelledReferences = entity.checkedReferences(in: entities)
            entity.numberColumns = entity.claimedNumberColumns(in: entities)
            return entity
        }
    }

    /// A reference to an entity.
    package struct IncomingReference: Sendable {
        /// Position of the entity that refers.
        package let entity: Int
        /// Its columns, in the order of the target's key.
        package let columns: [Int]
        /// Whether the key of the row that refers has one of them.
        package let isInKey: Bool
    }

    /// The references to an entity.
    /// - Complexity: O(references of the schema)
    package func references(to target: Int) -> [IncomingReference] {
        entities.enumerated().flatMap { position, entity in
            entity.references.filter { $0.target == target }.map { reference in
                IncomingReference(
                    entity: position, columns: reference.columns,
                    isInKey: reference.columns.contains(where: entity.key.contains))
            }
        }
    }
}
