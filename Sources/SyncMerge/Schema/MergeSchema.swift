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
        self.entities = entities.map { entity in
            var entity = entity
            entity.references = entity.resolvedReferences(in: entities)
            return entity
        }
    }
}
