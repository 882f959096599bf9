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
            let versions =
                parts.compactMap { $0 }.first.map { record.cells[$0.cell] }
                ?? record.firstVersions(
                    keyCell: entity.isPrivate ? nil : entity.key.first.flatMap { sources[$0]?.cell }
                )
            result.cells[cell] = versions.map { version in
                let value = zip(columns, parts).map { column, part -> Field in
                    guard let part else { return .value(entity.columns[column].defaultValue) }
                    let versions = record.cells[part.cell]
                    let same = versions.first { $0.dot == version.dot } ?? versions.first
                    return same?.value[part.place] ?? .value(entity.columns[column].defaultValue)
                }
                return Version(version.dot, incarnation: version.incarnation, value: value)
            }
        }
        return result
    }
}

extension ObjectRecord {
    /// Versions of a column that did not exist: one for each insert, also where several replicas
    /// inserted one row, or one deleted it and inserted it again, which wrote all of it. A deleted
    /// object has no insert fact any more, but the insert wrote the key; where the key is no
    /// property, the first remaining version is used.
    fileprivate func firstVersions(keyCell: Int?) -> [Version] {
        let inserts = life.filter { life in
            life.kind == .created
                || life.kind == .revived
                    && cells.allSatisfy { $0.contains { $0.dot == life.dot } }
        }
        var dots: [Int: Dot] = [:]
        for version in cells.joined() {
            dots[version.incarnation] = min(dots[version.incarnation] ?? version.dot, version.dot)
        }
        for version in keyCell.map({ cells[$0] }) ?? [] {
            dots[version.incarnation] = version.dot
        }
        for insert in inserts { dots[insert.incarnation] = nil }
        let firsts = dots.map { ($0.value, $0.key) } + inserts.map { ($0.dot, $0.incarnation) }
        return firsts.sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map {
            Version($0.0, incarnation: $0.1, value: [])
        }
    }
}
