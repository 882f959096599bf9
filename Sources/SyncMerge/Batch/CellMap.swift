/// Maps the cells of a sender's entity to the receiver's: cells with the same columns, in any
/// order.
package struct CellMap {
    /// The position of the receiver's entity.
    package let place: Int
    /// By the sender's cell: the receiver's cell, and for each of its columns the position at the
    /// sender.
    private var cells: [(cell: Int, order: [Int])?]

    /// Maps a sender's entity to a receiver's.
    package init(from theirs: Batch.Entity, place: Int, to ours: MergeEntity) {
        self.init(
            from: theirs, place: place, cells: ours.cells.map { $0.map { ours.columns[$0].name } })
    }

    /// Maps a sender's entity to a receiver's cells.
    /// - Parameter ours: the names of the columns of each of the receiver's cells.
    package init(from theirs: Batch.Entity, place: Int, cells ours: [[String]]) {
        self.place = place
        let names = ours.map { $0.map(Collation.lowercased) }
        cells = theirs.cells.map { columns in
            let columns = columns.map(Collation.lowercased)
            for (cell, wanted) in names.enumerated() where wanted.count == columns.count {
                let order = wanted.compactMap { columns.firstIndex(of: $0) }
                if order.count == wanted.count { return (cell, order) }
            }
            return nil
        }
    }

    /// The receiver's numbers of some of the sender's cells, ascending, without those that it does
    /// not have.
    package func resolved(_ theirs: [Int]) -> [Int] {
        theirs.compactMap { cells.indices.contains($0) ? cells[$0]?.cell : nil }.sorted()
    }

    /// A version as a fact of the receiver's cell; nil when the receiver has no such cell.
    package func resolved(_ uid: ObjectUID, cell: Int, version: Version) -> Fact? {
        guard let target = cells[cell] else { return nil }
        let value = target.order.map { version.value[$0] }
        let version = Version(version.dot, incarnation: version.incarnation, value: value)
        return .cell(uid, entity: place, cell: target.cell, version)
    }
}
