import SyncMerge
import SyncStorage

/// What ``LocalLane`` needs to know of an entity whose rows it may state. Immutable.
final class StatedEntity {
    /// A part of the key of another row.
    struct Part {
        /// Position in ``StatedEntity/references``.
        let reference: Int
        let part: Int
    }

    let position: Int
    let name: String
    let isPrivate: Bool
    /// The columns of the key.
    let key: [Int]
    /// The columns of each cell.
    let cells: [[Int]]
    /// The cells that have a column of the key.
    let keyCells: PositionSet
    /// The cells whose versions blend.
    let blendingCells: PositionSet
    let references: [MergeEntity.Reference]
    /// By column; nil: it refers to nothing.
    let parts: [Part?]
    /// Whether something belongs to one row alone.
    let hasClaims: Bool
    /// Whether SET DEFAULT may fall back to a row.
    let isFallback: Bool
    /// Whether a CHECK, a NOT NULL or a type could refuse a row.
    let mayRefuse: Bool
    let table: MergedTable
    /// Finds the rows that refer to one of its, by the key: one for each reference.
    let selectReferrers: [String]

    /// - Returns: nil for an entity with constraints whose meaning depends on other rows in more
    ///   ways than the lane looks at.
    init?(_ position: Int, of schema: ReplicaSchema) {
        let entity = schema.merge.entities[position]
        let table = schema.tables[position]
        guard !entity.sharesNumbers, !table.hasSpellings,
            entity.cells.count <= PositionSet.cellsMax,
            !entity.checksReference, !entity.computesReferences
        else { return nil }
        var parts = [Part?](repeating: nil, count: entity.columns.count)
        for (index, reference) in entity.references.enumerated() {
            let target = schema.merge.entities[reference.target]
            guard !reference.isExact, !target.sharesNumbers,
                !schema.tables[reference.target].hasSpellings
            else { return nil }
            for (part, column) in reference.columns.enumerated() {
                // Of two references of one column it depends on the rows which one counts.
                guard parts[column] == nil else { return nil }
                parts[column] = Part(reference: index, part: part)
            }
        }
        func set(_ condition: (Int) -> Bool) -> PositionSet {
            entity.cells.indices.reduce(into: PositionSet()) { if condition($1) { $0.insert($1) } }
        }
        self.position = position
        self.table = table
        name = entity.name
        isPrivate = entity.isPrivate
        key = entity.key
        cells = entity.cells
        keyCells = set { cell in entity.cells[cell].contains(where: entity.key.contains) }
        blendingCells = set { entity.policies[$0].isBlending }
        references = entity.references
        self.parts = parts
        hasClaims = !entity.claims.isEmpty
        isFallback = schema.merge.entities.contains { other in
            other.references.contains { $0.onDelete == .setDefault && $0.target == position }
        }
        mayRefuse = entity.mayRefuse
        selectReferrers = schema.merge.references(to: position).map {
            schema.tables[$0.entity].select(by: $0.columns, collations: table.keyCollations)
        }
    }

    /// Whether a constraint may refuse the present row of a statement that reads all columns.
    /// - Complexity: O(columns)
    func refuses(_ row: Statement, in schema: MergeSchema) -> Bool {
        var values = table.columns.indices.map { Field.value(row.value(Int32($0))) }
        if isPrivate { values[key[0]] = .value(.null) }
        return schema.entities[position].refuses(values)
    }
}
