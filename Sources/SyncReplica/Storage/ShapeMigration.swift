import SyncMerge

/// Rewrites the records of an entity whose cells have changed: new columns get their default,
/// dropped columns are removed, and cells that were joined or split are converted. The cells that
/// headers name are converted, too.
struct ShapeMigration {
    private let connection: OpaquePointer
    private let schema: MergeSchema
    private let replicas: ReplicaNames

    init(_ connection: OpaquePointer, schema: MergeSchema, replicas: ReplicaNames) {
        self.connection = connection
        self.schema = schema
        self.replicas = replicas
    }

    /// - Parameters:
    ///   - entity: the position of the entity in the schema.
    ///   - shape: the entity's number in `syncd_shape`.
    ///   - cells: the folded names of the columns of each cell before the change.
    /// - Throws: SQLite errors; `badData`, `corrupt` for records that cannot be read.
    /// - Complexity: O(facts of the entity, and changes of all transactions), in memory.
    func run(entity: Int, shape: Int64, formerCells cells: [[String]]) throws {
        let change = CellChange(of: schema.entities[entity], from: cells)
        let widths = cells.map(\.count)
        try ObjectStorage.rewriteRecords(connection, ofShape: shape) { bytes in
            let record = try RecordCoding.decode(
                bytes, entity: entity, widths: widths, replicas: replicas)
            return try RecordCoding.encode(change.converted(record), replicas: replicas)
        }
        let places = change.places(count: cells.count)
        if places.indices.allSatisfy({ places[$0] == $0 }) { return }
        try HeaderStorage.rewriteDetails(connection) {
            try HeaderDetails.renumbered($0, shape: shape, cells: places)
        }
    }
}
