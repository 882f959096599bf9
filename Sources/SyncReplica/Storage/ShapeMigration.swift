import SyncMerge
import SyncStorage

/// Rewrites the records of an entity whose cells have changed: new columns get their default, and
/// cells that were joined or split are converted. Facts of dropped columns wait from then on
/// (``UnknownFacts``): other replicas may need them. The cells that headers and the conflict log
/// name are converted, too.
struct ShapeMigration {
    private let connection: OpaquePointer
    private let schema: MergeSchema
    private let replicas: ReplicaNames
    private let unknown: UnknownFacts

    init(
        _ connection: OpaquePointer, schema: MergeSchema, replicas: ReplicaNames,
        unknown: UnknownFacts
    ) {
        self.connection = connection
        self.schema = schema
        self.replicas = replicas
        self.unknown = unknown
    }

    /// - Parameters:
    ///   - entity: the position of the entity in the schema.
    ///   - shape: the entity's number in `syncd_shape`.
    ///   - cells: the folded names of the columns of each cell before the change.
    /// - Throws: SQLite errors; `badData`, `corrupt` for records that cannot be read.
    /// - Complexity: O(facts of the entity, and changes of all transactions), in memory.
    func run(entity: Int, shape: Int64, formerCells cells: [[String]]) throws {
        let present = schema.entities[entity]
        let change = CellChange(of: present, from: cells)
        let widths = cells.map(\.count)
        let names = Set(present.columns.map { SQLName.folded($0.name) })
        let former = Batch.Entity(name: present.name, isPrivate: present.isPrivate, cells: cells)
        let dropped = cells.map { columns in
            columns.indices.filter { !names.contains(columns[$0]) }
        }
        try ObjectStorage.rewriteRecords(connection, ofShape: shape) { uid, bytes in
            let record = try RecordCoding.decode(
                bytes, entity: entity, widths: widths, replicas: replicas)
            for (cell, places) in dropped.enumerated() where !places.isEmpty {
                for version in record.cells[cell] where !version.isUnwritten {
                    try keep(version, of: uid, in: places, of: former, columns: cells[cell])
                }
            }
            let converted = change.converted(record)
            if converted.hasParts { try Metadata(connection).use(.partialVersions) }
            return try RecordCoding.encode(converted, replicas: replicas)
        }
        try ConflictCells(connection).follow(present)
        let places = change.places(count: cells.count)
        if places.indices.allSatisfy({ places[$0] == [$0] }) { return }
        try HeaderStorage.rewriteDetails(connection) {
            try HeaderDetails.renumbered($0, shape: shape, cells: places)
        }
    }

    /// Keeps what a version states of columns that were dropped.
    private func keep(
        _ version: Version, of uid: ObjectUID, in places: [Int], of entity: Batch.Entity,
        columns: [String]
    ) throws {
        let stated = version.stated.filter(places.contains)
        try unknown.write(
            .cell(uid, entity: 0, cell: 0, version.fields(at: stated)), of: entity,
            columns: stated.map { columns[$0] })
    }
}
