import SyncMerge
import SyncStorage

/// How the cells of an entity change with its schema.
struct CellChange {
    private let entity: MergeEntity
    /// For each column: the cell and the place in it that it had; nil for a new column.
    private let sources: [(cell: Int, place: Int)?]

    /// For each present cell: the former one with the same columns; nil: there was none.
    private let unchanged: [Int?]

    init(of entity: MergeEntity, from cells: [[String]]) {
        self.entity = entity
        let present = entity.cells.map { $0.map { SQLName.folded(entity.columns[$0].name) } }
        unchanged = present.map { cells.firstIndex(of: $0) }
        sources = entity.columns.map { column in
            let name = SQLName.folded(column.name)
            for (cell, columns) in cells.enumerated() {
                if let place = columns.firstIndex(of: name) { return (cell, place) }
            }
            return nil
        }
    }

    /// The present cells of each of the former ones: those that have columns of it, ascending.
    func places(count: Int) -> [[Int]] {
        (0..<count).map { cell in
            let columns = sources.indices.filter { sources[$0]?.cell == cell }
            return Set(columns.compactMap { entity.cellOfColumn[$0] }).sorted()
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
            if let same = unchanged[cell] {
                result.cells[cell] = record.cells[same]
                continue
            }
            let nothing = [Field](repeating: .unstated, count: columns.count)
            var versions: [Version] = []
            func add(_ field: Field, at place: Int, _ dot: Dot, _ incarnation: Int) {
                var value = nothing
                value[place] = field
                let part = Version(dot, incarnation: incarnation, value: value)
                let known = versions.firstIndex { $0.dot == dot && $0.incarnation == incarnation }
                guard let known else { return versions.append(part) }
                versions[known] = versions[known].joined(part)
            }
            for (place, column) in columns.enumerated() {
                guard let source = sources[column] else {
                    let value = Field.value(entity.columns[column].defaultValue)
                    for life in record.inserts { add(value, at: place, life.dot, life.incarnation) }
                    if let unwritten = record.unwritten([]) {
                        add(value, at: place, unwritten.dot, unwritten.incarnation)
                    }
                    continue
                }
                for version in record.cells[source.cell]
                where version.value[source.place] != .unstated {
                    add(
                        version.value[source.place], at: place, version.dot, version.incarnation)
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
