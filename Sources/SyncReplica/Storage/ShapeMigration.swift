import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Rewrites the records of an entity whose cells have changed: columns that are new get their
/// default, columns that are gone are dropped, cells that were joined or split go along. So do the
/// cells that headers name.
struct ShapeMigration {
    private let connection: OpaquePointer
    private let schema: MergeSchema
    private let replicas: ReplicaNames

    init(_ connection: OpaquePointer, _ schema: MergeSchema, _ replicas: ReplicaNames) {
        self.connection = connection
        self.schema = schema
        self.replicas = replicas
    }

    /// - Parameters:
    ///   - number: the entity's number in `syncd_shape`.
    ///   - cells: the folded names of the columns of each cell, as they were.
    func run(_ entity: Int, _ number: Int64, _ cells: [[String]]) throws {
        let select = try Statement(
            connection, "SELECT id, record FROM syncd_object WHERE shape = ?1")
        let update = try Statement(
            connection, "UPDATE syncd_object SET record = ?2 WHERE id = ?1")
        let map = CellChange(schema.entities[entity], from: cells)
        var changed: [(Int64, [UInt8])] = []
        select.bind(1, number)
        while try select.step() {
            let record = try RecordCoding.decode(
                select.blob(1) ?? [], entity: entity, widths: cells.map(\.count), replicas)
            changed.append(
                (select.integer(0), try RecordCoding.encode(map.converted(record), replicas)))
        }
        for (id, record) in changed { try update.run(.integer(id), .blob(record)) }
        try renumber(number, map.places(count: cells.count))
    }

    /// - Parameter places: the present cell of each former one; nil for one that is gone.
    private func renumber(_ number: Int64, _ places: [Int?]) throws {
        if places.indices.allSatisfy({ places[$0] == $0 }) { return }
        let select = try Statement(connection, "SELECT place, details FROM syncd_header")
        let update = try Statement(
            connection, "UPDATE syncd_header SET details = ?2 WHERE place = ?1")
        var changed: [(Int64, [UInt8])] = []
        while try select.step() {
            let details = select.blob(1) ?? []
            let renumbered = try HeaderDetails.renumbered(details, shape: number, places)
            if renumbered != details { changed.append((select.integer(0), renumbered)) }
        }
        for (place, details) in changed { try update.run(.integer(place), .blob(details)) }
    }
}

/// How the cells of an entity become others.
struct CellChange {
    private let entity: MergeEntity
    /// For each column: the cell and the place in it that it had; nil for a new column.
    private let sources: [(cell: Int, place: Int)?]

    init(_ entity: MergeEntity, from cells: [[String]]) {
        self.entity = entity
        sources = entity.columns.map { column in
            let name = SQLName.folded(column.name)
            for (cell, columns) in cells.enumerated() {
                if let place = columns.firstIndex(of: name) { return (cell, place) }
            }
            return nil
        }
    }

    /// The present cell of each of the former ones: that of its first column; nil for one that is
    /// gone.
    func places(count: Int) -> [Int?] {
        (0..<count).map { cell in
            sources.firstIndex { $0?.cell == cell }.flatMap { entity.cellOfColumn[$0] }
        }
    }

    /// The record in the present cells. A cell that was put together has one version for each of
    /// the versions of its first part; new columns show their default, as SQLite does.
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
    /// Stand-ins for the versions of a column that was not there yet: one for each insert. Of a
    /// deleted object the insert is forgotten, but its key was written by it; where the key is no
    /// property, the first version that is left stands for it.
    fileprivate func firstVersions(keyCell: Int?) -> [Version] {
        var dots: [Int: Dot] = [:]
        for version in cells.joined() {
            dots[version.incarnation] = min(dots[version.incarnation] ?? version.dot, version.dot)
        }
        for version in keyCell.map({ cells[$0] }) ?? [] {
            dots[version.incarnation] = version.dot
        }
        for life in life where life.kind == .created { dots[life.incarnation] = life.dot }
        return dots.sorted { $0.key < $1.key }.map {
            Version($0.value, incarnation: $0.key, value: [])
        }
    }
}
