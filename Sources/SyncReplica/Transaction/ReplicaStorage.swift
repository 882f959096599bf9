/// What depends on the schema of the tracked tables, and one object for each table that merging
/// keeps.
///
/// Invariant: valid for one value of `PRAGMA schema_version` and for the stored policies;
/// ``MergeSession`` makes another one when either changes.
///
/// Confined to its connection's queue.
final class ReplicaStorage {
    let connection: OpaquePointer
    let schemaVersion: Int64
    /// The CREATE statements of the tables and their indexes.
    let structure: [String]
    let schema: ReplicaSchema
    let policies: MergePolicies
    /// The policies as they are stored.
    let storedPolicies: Value
    let replicas: ReplicaNames
    let headers: HeaderStorage
    let shapes: Shapes
    let objects: ObjectStorage
    let conflicts: ConflictStorage
    let unknown: UnknownFacts
    let marks: CollectionMarks
    let totals: SumTotals
    let sums: SumEntries
    let comparisons: PeerComparisons
    let schemas: SchemaStorage
    let concurrentSchemas: ConcurrentSchemas
    let peers: PeerStorage
    let signers: SignerStorage
    let replicaNames: ReplicaNameStorage
    let members: MemberStorage
    let doubts: DoubtStorage
    let history: LocalHistory
    let unrecorded: UnrecordedTransactions
    let statements: StatementCache
    let triggers: FiringTriggers
    /// The hash of the statements that the tables were made with; nil: not computed yet.
    var schemaHash: UInt64?

    /// Made when they are needed first.
    private var fastLane: LaneStorage?
    private var statedObjects: StatedObjects?

    /// What the fast lane needs.
    /// - Throws: SQLite errors.
    func lane() throws -> LaneStorage {
        if let fastLane { return fastLane }
        let lane = try LaneStorage(statements, schema: schema)
        fastLane = lane
        return lane
    }

    /// What the local lane needs.
    /// - Throws: SQLite errors.
    func stated() throws -> StatedObjects {
        if let statedObjects { return statedObjects }
        let objects = try StatedObjects(statements, schema: schema)
        statedObjects = objects
        return objects
    }

    /// Prepares the statements, and adds the entities of the schema to `syncd_shape`, in the
    /// transaction that the connection is in.
    /// - Throws: SQLite errors; `badData`, `corrupt` for stored records that cannot be read.
    init(
        connection: OpaquePointer, schema: ReplicaSchema, policies: MergePolicies,
        storedPolicies: Value, triggers: FiringTriggers, store: StoreID, version: Int64,
        structure: [String]
    ) throws {
        self.connection = connection
        schemaVersion = version
        self.structure = structure
        self.triggers = triggers
        try triggers.learn(schema.tables)
        self.schema = schema
        self.policies = policies
        self.storedPolicies = storedPolicies
        replicas = try ReplicaNames(connection)
        headers = try HeaderStorage(connection, replicas: replicas)
        unknown = try UnknownFacts(connection, replicas: replicas)
        let migration = ShapeMigration(
            connection, schema: schema.merge, replicas: replicas, unknown: unknown)
        shapes = try Shapes(connection, schema: schema.merge) {
            try migration.run(entity: $0, shape: $1, formerCells: $2)
        }
        marks = try CollectionMarks(connection)
        totals = try SumTotals(
            connection, items: FactItems(schema.merge, store: store), schema: schema, shapes: shapes
        )
        sums = SumEntries(connection, store: store)
        comparisons = PeerComparisons(connection, replicas: replicas)
        schemas = SchemaStorage(connection, replicas: replicas)
        concurrentSchemas = ConcurrentSchemas(schemas, headers: headers)
        objects = try ObjectStorage(
            connection, schema: schema.merge, shapes: shapes, replicas: replicas, marks: marks,
            totals: totals)
        conflicts = try ConflictStorage(connection, replicas: replicas)
        peers = try PeerStorage(connection, replicas: replicas)
        signers = try SignerStorage(connection)
        replicaNames = try ReplicaNameStorage(connection)
        members = MemberStorage(connection, store: store)
        doubts = DoubtStorage(connection, replicas: replicas)
        history = try LocalHistory(connection)
        unrecorded = try UnrecordedTransactions(connection, catalog: history.catalog)
        statements = StatementCache(connection)
    }

    /// Reads again what other connections may have written since the last transaction.
    func reload() throws {
        try replicas.reload()
        try marks.reload()
        try totals.reload()
        headers.reload()
    }

    /// Whether all facts of what was merged are here: no later part of an exchange, which may
    /// overwrite some that did not come with it, is still to come.
    /// - Throws: SQLite errors; `badData` for a stored vector that cannot be read.
    func isWhole() throws -> Bool {
        try headers.vector().covers(history.settings.vector(.goal))
    }
}
