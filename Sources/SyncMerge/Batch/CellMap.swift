/// Maps the cells of a sender's entity to the receiver's, by their columns: where constraints
/// differ, one has columns in one cell that are several at the other.
package struct CellMap {
    /// What a cell of the sender is here.
    private struct Target {
        /// The receiver's cells that have columns of it, and for each of their columns the position
        /// at the sender; nil: the sender's cell does not have it.
        var parts: [(cell: Int, order: [Int?])] = []
        /// The positions at the sender of columns that the receiver does not have.
        var rest: [Int] = []
    }

    /// The position of the receiver's entity.
    package let place: Int
    private let targets: [Target]

    /// Maps a sender's entity to a receiver's.
    package init(from theirs: Batch.Entity, place: Int, to ours: MergeEntity) {
        self.init(
            from: theirs, place: place, cells: ours.cells.map { $0.map { ours.columns[$0].name } })
    }

    /// Maps a sender's entity to a receiver's cells.
    /// - Parameter ours: the names of the columns of each of the receiver's cells.
    package init(from theirs: Batch.Entity, place: Int, cells ours: [[String]]) {
        self.place = place
        let ours = ours.map { $0.map(Collation.lowercased) }
        targets = theirs.cells.map { columns in
            let columns = columns.map(Collation.lowercased)
            var target = Target()
            for (cell, names) in ours.enumerated() {
                let order = names.map { columns.firstIndex(of: $0) }
                if order.contains(where: { $0 != nil }) { target.parts.append((cell, order)) }
            }
            let placed = Set(target.parts.flatMap(\.order))
            target.rest = columns.indices.filter { !placed.contains($0) }
            return target
        }
    }

    /// The receiver's numbers of some of the sender's cells, ascending, without those that it does
    /// not have.
    package func resolved(_ theirs: [Int]) -> [Int] {
        if theirs.count == 1, targets.indices.contains(theirs[0]) {
            return targets[theirs[0]].parts.map(\.cell)
        }
        let cells = theirs.flatMap { targets.indices.contains($0) ? targets[$0].parts : [] }
        return Set(cells.map(\.cell)).sorted()
    }

    /// A version as facts of the receiver's cells.
    /// - Returns: also the positions of the columns that the receiver does not have.
    package func resolved(
        _ uid: ObjectUID, cell: Int, version: Version
    ) -> (facts: [Fact], rest: [Int]) {
        let target = targets[cell]
        let facts = target.parts.map { part in
            let value = part.order.map { $0.map { version.value[$0] } ?? .unstated }
            return Fact.cell(
                uid, entity: place, cell: part.cell,
                Version(version.dot, incarnation: version.incarnation, value: value))
        }
        return (facts, target.rest)
    }
}
