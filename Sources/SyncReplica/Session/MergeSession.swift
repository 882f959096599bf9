import CSQLite
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Everything that is prepared on a merge connection, and the one way to write on it.
///
/// Invariants
/// - Between two transactions of ours, the tables of the store are the view of the stored state,
///   but for what writers have committed since; every transaction begins by stating that as facts.
/// - The vector never moves without the facts that it covers: both are in one transaction.
/// - Of the triggers, those of the user fire that write untracked tables alone
///   (``FiringTriggers``).
///
/// Confined to its connection's queue.
final class MergeSession {
    let connection: OpaquePointer
    let identity: StoreIdentity
    let environment: MergeEnvironment
    let database: Database
    let tracker: Tracker
    /// How many changes the last transaction found that nobody had recorded.
    private(set) var missedCount = 0
    private let triggers: FiringTriggers
    private var prepared: Prepared?

    /// What depends on the schema, and the statements on our own tables.
    final class Prepared {
        let schemaVersion: Int64
        let schema: ReplicaSchema
        let replicas: ReplicaNames
        let headers: HeaderStorage
        let shapes: Shapes
        let objects: ObjectStorage
        let conflicts: ConflictStorage
        let history: LocalHistory
        let tail: HistoryTail
        let unknown: UnknownFacts
        let marks: CollectionMarks
        let statements: StatementCache
        let triggers: FiringTriggers
        let policies: MergePolicies

        init(
            _ connection: OpaquePointer, _ schema: ReplicaSchema, _ policies: MergePolicies,
            _ triggers: FiringTriggers, version: Int64
        ) throws {
            schemaVersion = version
            self.triggers = triggers
            try triggers.learn(schema.tables)
            self.schema = schema
            self.policies = policies
            replicas = try ReplicaNames(connection)
            headers = try HeaderStorage(connection, replicas)
            let migration = ShapeMigration(connection, schema.merge, replicas)
            shapes = try Shapes(connection, schema.merge, changed: migration.run)
            marks = try CollectionMarks(connection)
            objects = try ObjectStorage(connection, schema.merge, shapes, replicas, marks)
            conflicts = try ConflictStorage(connection, replicas)
            history = try LocalHistory(connection)
            tail = try HistoryTail(connection, history.catalog)
            unknown = try UnknownFacts(connection, replicas)
            statements = StatementCache(connection)
        }
    }

    init(
        _ database: Database, _ tracker: Tracker, _ identity: StoreIdentity,
        _ environment: MergeEnvironment
    ) throws {
        guard let connection = database.sqliteConnection else {
            throw SyncError(.internalFault, "the connection is closed")
        }
        self.database = database
        self.tracker = tracker
        self.connection = connection
        self.identity = identity
        self.environment = environment
        triggers = FiringTriggers(connection)
    }

    /// Pages that a merge keeps in memory: identities are random, so that a few thousand pages of
    /// their index are written again and again. Less reads them from the WAL each time.
    private static let cacheKibibytes = 32_768

    /// Makes room for a merge, until ``narrowCache()``.
    func widenCache() throws {
        try RawTransaction.execute(
            connection, "PRAGMA cache_size = -\(Self.cacheKibibytes)")
    }

    /// Gives the memory back.
    func narrowCache() {
        let size = StoreConnection.cacheKibibytes
        try? RawTransaction.execute(connection, "PRAGMA cache_size = -\(size)")
        sqlite3_db_release_memory(connection)
    }

    /// Runs `body` in one write transaction, after what writers have committed was stated as facts.
    /// - Parameter policies: those of somebody else; adopted first, if they are newer.
    /// - Throws: `busy`; whatever `body` throws: nothing was written then.
    func transact<Result>(
        adopting policies: MergePolicies? = nil, _ body: (MergeWork) throws -> Result
    ) throws -> Result {
        try RawTransaction.write(connection) {
            let former = self.prepared
            do {
                let isUnseen = try verifyCapture()
                let prepared = try prepare()
                try requireIdentity(prepared)
                let isFresh = former !== prepared
                var work = try MergeWork(self, prepared)
                let missed = isUnseen ? try work.recordMissed() : MergeWork.MissedReport()
                missedCount = missed.count
                // History goes on from what was just logged.
                if missedCount > 0 { work = try MergeWork(self, prepared) }
                try work.stateLocal()
                if missed.hasReturned { try work.showAll() }
                if isFresh { try work.adoptUnknown() }
                if let policies, try policies.replace(prepared.policies) {
                    work = try adopt(policies, after: work)
                }
                let result = try body(work)
                try work.finish()
                return result
            } catch {
                // Numbers that were given and rolled back must not be used again.
                self.prepared = nil
                throw error
            }
        }
    }

    /// The file is still the replica that it was when it was opened.
    private func requireIdentity(_ prepared: Prepared) throws {
        let present = try prepared.history.settings.value(.replica)
        guard present == .blob(identity.replica.bytes) else {
            self.prepared = nil
            throw SyncError(
                .busy, "the file became another replica meanwhile", hint: "Try again")
        }
    }

    /// Runs `body` on one state of the store; nothing is stated or written.
    func read<Result>(_ body: (Prepared) throws -> Result) throws -> Result? {
        try RawTransaction.read(connection) {
            guard try ReplicationTables.exist(connection) else { return nil }
            guard let prepared, try schemaVersion() == prepared.schemaVersion else { return nil }
            try prepared.replicas.reload()
            prepared.headers.reload()
            return try body(prepared)
        }
    }

    /// Makes sure that the log and the records account for the tables, before anything is stated:
    /// within the write transaction, so that nobody changes a table in between.
    ///
    /// Costs the comparison of two integers while nobody has changed the schema.
    /// - Returns: whether the tables have to be compared with the records.
    /// - Throws: `refused` for a change that needs a decision; nothing was changed then.
    private func verifyCapture() throws -> Bool {
        let select = try Statement(
            connection,
            """
            SELECT (SELECT value FROM syncd_meta WHERE key = 'schema'),
              (SELECT value FROM syncd_meta WHERE key = 'unseen')
            """)
        guard try select.step() else { return false }
        let (remembered, isUnseen) = (select.integer(0), select.integer(1) != 0)
        select.reset()
        guard try schemaVersion() != remembered else { return isUnseen }
        try tracker.repairForMerging(database)
        return try StoreMeta.integer(database, StoreMeta.unseen) == 1
    }

    private func schemaVersion() throws -> Int64 {
        let version = try Statement(connection, "PRAGMA schema_version")
        return try version.step() ? version.integer(0) : 0
    }

    private func prepare() throws -> Prepared {
        if let prepared, try schemaVersion() == prepared.schemaVersion {
            try prepared.replicas.reload()
            try prepared.marks.reload()
            prepared.headers.reload()
            return prepared
        }
        try requireWhole()
        try ReplicationTables.create(connection)
        let settings = try Settings(connection)
        let policies = try storedPolicies(settings)
        let tracked = Set(try Entity.live(database).map { SQLName.folded($0.name) })
        let tables = try SchemaReader(database).tables().filter {
            $0.kind == .table && tracked.contains(SQLName.folded($0.name))
        }
        let schema = try ReplicaSchema(tables, policies)
        try StatedTables(connection, database, settings).check(schema)
        let prepared = try Prepared(
            connection, schema, policies, triggers, version: try schemaVersion())
        self.prepared = prepared
        return prepared
    }

    /// Half of what merging has stored, or the tables of another store, would make the other
    /// replicas merge nonsense.
    private func requireWhole() throws {
        try StoreMeta.requireReadable(database)
        let missing = try StoreDamage.missingReplication(database)
        guard missing.isEmpty else {
            throw SyncError(
                .storeDamaged,
                "tables that synchronising needs were dropped (\(missing.joined(separator: ", ")))",
                hint: "It cannot go on as the replica that it was. To make it a store of its own "
                    + "again run: synctool doctor DB --mend")
        }
        guard try StoreIdentity(Settings(connection)) == identity else {
            throw SyncError(
                .storeReplaced, "the store began again under another identity meanwhile",
                hint: "Run it again")
        }
    }

    // MARK: Policies

    /// What the owner chose, read alone.
    func policies() throws -> MergePolicies {
        try RawTransaction.read(connection) { try storedPolicies(Settings(connection)) }
    }

    private func storedPolicies(_ settings: Settings) throws -> MergePolicies {
        guard case .text(let json) = try settings.value(.policies) else { return MergePolicies() }
        return try MergePolicies(json: json)
    }

    /// Changes what the owner chose, and shows the tables as they are by that.
    /// - Throws: `invalidArgument` for what the schema does not have; `refused` for what cannot be
    ///   chosen any more.
    func setPolicies(_ policies: MergePolicies) throws {
        let isFirst = try RawTransaction.read(connection) {
            try Settings(connection).value(.stated) == .null
        }
        if isFirst {
            prepared = nil
            try RawTransaction.write(connection) {
                _ = try verifyCapture()
                try store(policies, revision: 1)
                try PolicyCheck(try prepare().schema).run(policies)
            }
            return
        }
        var wanted = policies
        try transact { work in
            let present = work.prepared.policies
            wanted.revision = present.revision
            guard wanted != present else { return }
            guard present.revision < MergePolicies.revisionMax else {
                throw SyncError(
                    .refused,
                    "the merge policies cannot be changed any more: they have the last "
                        + "revision, \(present.revision)",
                    hint: "Begin a new store with: synctool untrack DB, synctool track DB; the "
                        + "other replicas are cloned from it")
            }
            wanted.revision = present.revision + 1
            try PolicyCheck(work.schema).run(wanted, after: present)
            let work = try adopt(wanted, after: work)
            try PolicyCheck(work.schema).run(wanted)
            // A transaction of its own: without one there would be nothing to send.
            try work.speak(of: [], author: nil, context: "policies") { _, _ in }
            try work.finish()
        }
    }

    private func store(_ policies: MergePolicies, revision: Int) throws {
        var policies = policies
        policies.revision = revision
        try Settings(connection).set(.policies, .text(try policies.json()))
    }

    /// Goes on with other policies, in the same transaction.
    private func adopt(_ policies: MergePolicies, after work: MergeWork) throws -> MergeWork {
        try work.finish()
        try store(policies, revision: policies.revision)
        prepared = nil
        let work = try MergeWork(self, try prepare())
        try work.showAll()
        return work
    }

    /// The CREATE statements of the tracked tables, then of their indexes. Triggers and views may
    /// need tables that do not travel.
    func schemaStatements(_ schema: ReplicaSchema) throws -> [String] {
        let tables = Set(schema.tables.map { SQLName.folded($0.name) })
        let select = try Statement(
            connection,
            """
            SELECT type, tbl_name, sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND type IN ('table', 'index')
              AND name NOT LIKE 'syncd\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY type = 'index', rowid
            """)
        var statements: [String] = []
        while try select.step() {
            guard tables.contains(SQLName.folded(select.text(1) ?? "")) else { continue }
            statements.append(select.text(2) ?? "")
        }
        return statements
    }
}
