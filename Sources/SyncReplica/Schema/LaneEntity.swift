import SyncMerge
import SyncStorage

/// What the fast lane needs to know of an entity whose objects it may take. Immutable.
final class LaneEntity {
    /// A cell, whether a version of it may be taken, and its columns.
    struct Cell {
        let columns: [Int]
        let columnSet: PositionSet
        /// Written by the last writer, outside the key, and in no claim with a reference.
        let isWritable: Bool
        /// Whether several versions of it concern their object alone: it is in no claim, and refers
        /// to nothing.
        let mayBeContested: Bool
    }

    /// What a column refers to.
    enum Target {
        case nothing
        /// The number or the key of a row of this entity.
        case entity(Int)
    }

    let position: Int
    let isPrivate: Bool
    /// The position of the key's columns; of a private number one.
    let key: [Int]
    let cells: [Cell]
    /// By column.
    let targets: [Target]
    let hasReferences: Bool
    /// Whether new objects may be taken: none that SET DEFAULT may fall back to, or that claims
    /// references.
    let takesNew: Bool
    let table: MergedTable

    /// - Returns: nil for an entity with constraints whose meaning depends on other rows in more
    ///   ways than the lane looks at.
    init?(_ position: Int, of schema: ReplicaSchema) {
        let entity = schema.merge.entities[position]
        let table = schema.tables[position]
        guard !entity.sharesNumbers, !table.hasSpellings, !table.isAutoincrement,
            entity.cells.count <= PositionSet.cellsMax,
            entity.columns.count <= PositionSet.columnsMax,
            !entity.checksReference
        else { return nil }
        self.position = position
        self.table = table
        isPrivate = entity.isPrivate
        key = entity.key
        var targets = [Target](repeating: .nothing, count: entity.columns.count)
        for reference in entity.references {
            let target = schema.merge.entities[reference.target]
            guard reference.columns.count == 1, target.key.count == 1, !reference.isExact,
                !target.sharesNumbers, !schema.tables[reference.target].hasSpellings,
                case .nothing = targets[reference.columns[0]],
                target.isPrivate || !target.references.contains(where: target.isInKey)
            else { return nil }
            targets[reference.columns[0]] = .entity(reference.target)
        }
        self.targets = targets
        hasReferences = !entity.references.isEmpty
        let referring = Set(entity.references.flatMap(\.columns))
        let claimed = entity.claims.filter { !referring.isDisjoint(with: $0.columns) }
        let fixed = Set(claimed.flatMap(\.columns) + entity.key)
        let tied = referring.union(entity.claims.flatMap(\.columns))
        cells = zip(entity.cells, entity.policies).map { columns, policy in
            Cell(
                columns: columns,
                columnSet: PositionSet(columns),
                isWritable: policy == .lastWriter && fixed.isDisjoint(with: columns),
                mayBeContested: tied.isDisjoint(with: columns))
        }
        takesNew =
            claimed.isEmpty && entity.policies.allSatisfy { $0 == .lastWriter }
            && !schema.merge.entities.contains { other in
                other.references.contains { $0.onDelete == .setDefault && $0.target == position }
            }
    }

    /// The columns of some cells, in the order of the cells.
    func columns(of set: PositionSet) -> [Int] {
        set.positions.flatMap { cells[$0].columns }
    }

    /// The columns of some cells.
    func columnSet(of set: PositionSet) -> PositionSet {
        var columns = PositionSet()
        for cell in cells.indices where set.contains(cell) {
            columns.formUnion(cells[cell].columnSet)
        }
        return columns
    }

    /// Whether a sender's entity has the same columns in the same cells.
    func isSame(as theirs: Batch.Entity, in schema: MergeSchema) -> Bool {
        let ours = schema.entities[position]
        guard theirs.isPrivate == ours.isPrivate, theirs.sharesNumbers == ours.sharesNumbers,
            theirs.cells.count == cells.count
        else { return false }
        return zip(theirs.cells, cells).allSatisfy { names, cell in
            names.count == cell.columns.count
                && zip(names, cell.columns).allSatisfy {
                    SQLName.isEqual($0, to: ours.columns[$1].name)
                }
        }
    }
}

extension MergeEntity {
    /// Whether a CHECK names a column of a reference.
    var checksReference: Bool {
        let referring = Set(references.flatMap(\.columns))
        return checks.contains { $0.columns.contains(where: referring.contains) }
    }

    /// Whether a reference is a part of the key.
    fileprivate func isInKey(_ reference: Reference) -> Bool {
        reference.columns.contains(where: key.contains)
    }
}
