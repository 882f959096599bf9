extension MergeSchema {
    /// The entities as a batch describes them.
    /// - Complexity: O(columns)
    package var batchEntities: [Batch.Entity] {
        entities.map { entity in
            Batch.Entity(
                name: entity.name, isPrivate: entity.isPrivate, sharesNumbers: entity.sharesNumbers,
                cells: entity.cells.map { $0.map { entity.columns[$0].name } })
        }
    }
}
