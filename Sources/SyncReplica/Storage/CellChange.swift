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

    /// The record in the present cells. It states the same: a version of several columns becomes
    /// versions of parts of it, and those of one transaction that are one cell now become one. New
    /// columns show their default, as in SQLite.
    /// - Complexity: O(facts of the record, squared for those of one cell)
    func converted(_ record: ObjectRecord) -> ObjectRecord {
        var result = ObjectRecord(entity: record.entity, cellCount: entity.cells.count)
        result.life = record.life
        for (cell, columns) in entity.cells.enumerated() {
            let nothing = [Field](repeating: .unstated, count: columns.count)
            var versions: [Version] = []
            func add(_ field: Field, at place: Int, by version: Version) {
                var value = nothing
                value[place] = field
                let part = Version(version.dot, incarnation: version.incarnation, value: value)
                let known = versions.firstIndex {
                    $0.dot == part.dot && $0.incarnation == part.incarnation
                }
                guard let known else { return versions.append(part) }
                versions[known] = versions[known].joined(part)
            }
            for (place, column) in columns.enumerated() {
                guard let source = sources[column] else {
                    let value = Field.value(entity.columns[column].defaultValue)
                    let inserts = record.inserts.map {
                        Version($0.dot, incarnation: $0.incarnation, value: [])
                    }
                    let writers = inserts + [record.unwritten([])].compactMap(\.self)
                    for version in writers { add(value, at: place, by: version) }
                    continue
                }
                for version in record.cells[source.cell]
                where version.value[source.place] != .unstated {
                    add(version.value[source.place], at: place, by: version)
                }
            }
            result.cells[cell] = versions
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
