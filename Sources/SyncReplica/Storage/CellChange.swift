import SyncMerge
import SyncStorage

/// How the cells of an entity change with its schema.
struct CellChange {
    private let entity: MergeEntity
    /// For each column: the cell and the place in it that it had; nil for a new column.
    private let sources: [(cell: Int, place: Int)?]

    init(of entity: MergeEntity, from cells: [[String]]) {
        self.entity = entity
        sources = entity.columns.map { column in
            let name = SQLName.folded(column.name)
            for (cell, columns) in cells.enumerated() {
                if let place = columns.firstIndex(of: name) { return (cell, place) }
            }
            return nil
        }
    }

    /// The present cell of each of the former ones: that of its first column; nil for a dropped
    /// one.
    func places(count: Int) -> [Int?] {
        (0..<count).map { cell in
            sources.firstIndex { $0?.cell == cell }.flatMap { entity.cellOfColumn[$0] }
        }
    }

    /// The record in the present cells. A cell that was joined from several has one version for
    /// each version of its first part; new columns show their default, as in SQLite.
    /// - Complexity: O(facts of the record)
    func converted(_ record: ObjectRecord) -> ObjectRecord {
        var result = ObjectRecord(entity: record.entity, cellCount: entity.cells.count)
        result.life = record.life
        for (cell, columns) in entity.cells.enumerated() {
            let parts = columns.map { sources[$0] }
            let value = entity.defaultValue(of: cell)
            guard let first = parts.compactMap(\.self).first else {
                result.cells[cell] = record.inserts.map {
                    Version($0.dot, incarnation: $0.incarnation, value: value)
                }
                if let version = record.unwritten(value) { result.cells[cell].append(version) }
                continue
            }
            result.cells[cell] = record.cells[first.cell].map { version in
                let value = zip(parts, value).map { part, missing -> Field in
                    guard let part else { return missing }
                    let versions = record.cells[part.cell]
                    let same = versions.first { $0.dot == version.dot } ?? versions.first
                    return same?.value[part.place] ?? missing
                }
                return Version(version.dot, incarnation: version.incarnation, value: value)
            }
        }
        return result
    }
}

extension ObjectRecord {
    /// The inserts that a column which did not exist has its default of: one or, where several
    /// replicas inserted one row, some. A deleted object has no insert fact any more.
    fileprivate var inserts: [Life] {
        life.filter { $0.kind == .created }.sorted {
            ($0.incarnation, $0.dot) < ($1.incarnation, $1.dot)
        }
    }
}
