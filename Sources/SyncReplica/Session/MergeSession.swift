import CSQLite
import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// The transactions of a merge connection: the only way to write on it.
///
/// Invariants
/// - Between two of its transactions, the tables of the store are the view of the stored state and
///   of what writers have committed since; every transaction begins by recording that as facts.
/// - The vector advances only with the facts that it covers: both are in one transaction.
/// - Of the user's triggers, only those fire that write only untracked tables (``FiringTriggers``).
///
/// Confined to its connection's queue.
final class MergeSession {
    let connection: OpaquePointer
    let identity: StoreIdentity
    let environment: MergeEnvironment
    let database: Database
    let tracker: Tracker
    /// How many changes the last transaction found that were not captured.
    private(set) var missedCount = 0
    /// Whether ``withWideCache(_:)`` runs.
    var isCacheWide = false
    private let triggers: FiringTriggers
    private var storage: ReplicaStorage?
    /// Where the commits end that the open write transaction found in the log.
    private var boundaries: [Boundary] = []

    /// - Throws: `internalFault` when the connection is closed.
    init(
        _ database: Database, tracker: Tracker, identity: StoreIdentity,
        environment: MergeEnvironment
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

    /// Runs `body` in one write transaction, after what writers have committed is recorded as
    /// facts.
    /// - Parameter policies: those of a batch's sender; adopted first, if they are newer.
    /// - Throws: `busy`; what `body` throws: nothing is written then.
    func transact<Result>(
        adopting policies: MergePolicies? = nil, _ body: (MergeTransaction) throws -> Result
    ) throws -> Result {
        for _ in 0..<Self.attemptsMax {
            try environment.settle()
            do {
                return try transactOnce(adopting: policies, body)
            } catch is CommitsRanTogether {
                // Nothing was written. Beside a daemon they are made part of history first.
            }
        }
        throw SyncError(
            .busy, "other processes are writing the history", hint: "Try again in a moment")
    }

    private static let attemptsMax = 4

    private func transactOnce<Result>(
        adopting policies: MergePolicies?, _ body: (MergeTransaction) throws -> Result
    ) throws -> Result {
        var start: ContinuousClock.Instant?
        defer {
            boundaries = []
            environment.endWriting()
            start.map { environment.tally.count(transaction: .now - $0) }
        }
        return try withWideCache {
            try RawTransaction.write(on: connection) {
                start = .now
                return try DatabaseOpener.withoutWaiting(on: connection) {
                    try transacting(adopting: policies, body)
                }
            }
        }
    }

    private func transacting<Result>(
        adopting policies: MergePolicies?, _ body: (MergeTransaction) throws -> Result
    ) throws -> Result {
        let former = self.storage
        do {
            // Before anything is written: without a WAL the other connection that is asked is kept
            // out once the cache has spilled.
            boundaries = try environment.boundaries()
            let isUnseen = try verifyCapture()
            let storage = try prepare()
            try requireIdentity(storage)
            // One schema is one storage.
            let structure = former === storage ? nil : ShownStructure(storage)
            let isRestructured = try structure?.isNew() ?? false
            var transaction = try recordLocal(
                on: storage, isUnseen: isUnseen, isRestructured: isRestructured)
            try structure?.store()
            if former !== storage {
                try WaitingMerge(transaction).merge()
                try SchemaRecording(transaction).record()
            }
            if let policies, try policies.shouldReplace(storage.policies) {
                transaction = try adopt(policies, after: transaction)
            }
            let result = try body(transaction)
            try transaction.finish()
            // After new policies, or none: another one than the transaction began with.
            if let storage = self.storage {
                try SumKeeping(storage, identity: identity).keep()
            }
            return result
        } catch {
            // Numbers that were assigned and rolled back must not be used again.
            self.storage = nil
            throw error
        }
    }

    /// Records what writers have committed.
    private func recordLocal(
        on storage: ReplicaStorage, isUnseen: Bool, isRestructured: Bool
    ) throws -> MergeTransaction {
        var transaction = try begin(on: storage)
        // A foreign key may lead to another table now, which no write of a row says.
        let missed =
            isUnseen || isRestructured
            ? try MissedChanges(transaction).record(isRestructured: isRestructured)
            : MissedChanges.Report()
        missedCount = missed.count
        // The changes that were just logged have to be in history.
        if missedCount > 0 { transaction = try begin(on: storage) }
        let isShown = try LocalRecorder(transaction, isShown: !missed.hasReturned)
            .record(isRestructured: isRestructured)
        if missed.hasReturned || isRestructured || !isShown {
            try RegionUpdate(transaction).showAll()
        }
        return transaction
    }

    /// Begins a step of the SQLite transaction that the connection is in.
    func begin(on storage: ReplicaStorage) throws -> MergeTransaction {
        try MergeTransaction(
            storage: storage, database: database, identity: identity, environment: environment,
            boundaries: boundaries)
    }

    /// Checks that the file is the replica that it was when it was opened.
    private func requireIdentity(_ storage: ReplicaStorage) throws {
        let present = try storage.history.settings.value(.replica)
        guard present == .blob(identity.replica.bytes) else {
            self.storage = nil
            throw SyncError(
                .busy, "the file became another replica meanwhile", hint: "Try again")
        }
    }

    /// Runs `body` on one state of the store; nothing is recorded or written.
    /// - Returns: nil when the schema or the policies have changed since the last transaction.
    /// - Throws: SQLite errors; what `body` throws.
    func read<Result>(_ body: (ReplicaStorage) throws -> Result) throws -> Result? {
        try RawTransaction.read(on: connection) {
            guard try ReplicationTables.exist(connection) else { return nil }
            guard let storage, try isPresent(storage) else { return nil }
            try storage.replicas.reload()
            storage.headers.reload()
            return try body(storage)
        }
    }

    /// Whether something is stated. Asking states nothing: until then the store may join another
    /// one, and its identities can be chosen.
    /// - Throws: `storeDamaged` when the tables of merging were made and dropped; SQLite errors.
    func isMerging() throws -> Bool {
        try RawTransaction.read(on: connection) {
            if try ReplicationTables.exist(connection) {
                return try Metadata(connection).value(.stated) != .null
            }
            try requireWhole()
            return false
        }
    }

    /// Checks that the log and the records account for the tables, before anything is recorded:
    /// within the write transaction, so that no table changes in between.
    ///
    /// Costs the comparison of two integers unless the schema has changed.
    /// - Returns: whether the tables have to be compared with the records.
    /// - Throws: `refused` for a change that needs a decision; nothing is changed then.
    func verifyCapture() throws -> Bool {
        let metadata = Metadata(connection)
        let remembered = try metadata.integer(.schema)
        let isUnseen = try metadata.integer(.unseen) != 0
        guard try schemaVersion() != remembered else { return isUnseen }
        try tracker.repairForMerging(database)
        return try metadata.integer(.unseen) != 0
    }

    private func schemaVersion() throws -> Int64 {
        let version = try Statement("PRAGMA schema_version", on: connection)
        return try version.step() ? version.integer(0) : 0
    }

    /// The storage of the present schema is read again with the next transaction.
    func discardStorage() { storage = nil }

    /// Whether the storage has the present schema and policies: another process may have changed
    /// either since the last transaction.
    private func isPresent(_ storage: ReplicaStorage) throws -> Bool {
        try schemaVersion() == storage.schemaVersion
            && Metadata(connection).value(.policies) == storage.storedPolicies
    }

    func prepare() throws -> ReplicaStorage {
        let settings = Metadata(connection)
        if let storage, try isPresent(storage) {
            try requireWriting(settings)
            try storage.reload()
            return storage
        }
        try requireWhole()
        try ReplicationTables.create(connection)
        try requireWriting(settings)
        try ObjectExtents.prepare(on: connection, settings)
        let policies = try storedPolicies(in: settings)
        if policies.shareNumbers { try settings.use(.sharedNumbers) }
        let tables = try EntityTable.liveTables(of: database)
        try CollationCheck(connection).require(tables)
        let names = try boundNames(of: tables)
        let schema = try ReplicaSchema(tables, names: names, policies: policies)
        try RecordedTables(connection, settings: settings).check(schema)
        let storage = try ReplicaStorage(
            connection: connection, schema: schema, policies: policies,
            storedPolicies: try settings.value(.policies), triggers: triggers,
            store: identity.store, version: try schemaVersion(),
            structure: try schemaStatements(of: schema))
        self.storage = storage
        return storage
    }

    /// In each transaction: the one that noted these forms first may have been rolled back when
    /// it was committed.
    private func requireWriting(_ settings: Metadata) throws {
        try settings.requireKnownWriting()
        try settings.use([.compactRecords, .shortLists])
    }

    /// The identities of the tables and columns as they are now, stored where they have changed.
    private func boundNames(of tables: [TableSchema]) throws -> SchemaNames {
        let storage = NameStorage(connection)
        let (names, stored, foreign) = try storage.bound(tables)
        if names != stored { try storage.write(names, foreign: foreign.without(names)) }
        return names
    }

    /// The identities of the present schema, where nothing is recorded yet.
    func presentNames() throws -> SchemaNames {
        try requireWhole()
        try ReplicationTables.create(connection)
        return try boundNames(of: try EntityTable.liveTables(of: database))
    }

    /// Checks that all tables of merging are there, and that they belong to this store: otherwise
    /// the other replicas would merge wrong facts.
    private func requireWhole() throws {
        try StoreDamage.requireReadable(database)
        let missing = try StoreDamage.missingReplication(database)
        guard missing.isEmpty else {
            throw SyncError(
                .storeDamaged,
                "tables that synchronising needs were dropped (\(missing.joined(separator: ", ")))",
                hint: "It cannot continue as the same replica. To make it a separate store again "
                    + "run: synctool doctor DB --mend")
        }
        guard try StoreIdentity(Metadata(connection)) == identity else {
            throw SyncError(
                .storeReplaced, "the store was created again under another identity meanwhile",
                hint: "Run it again")
        }
    }

    /// The CREATE statements of the tracked tables, then of their indexes. Triggers and views may
    /// need tables that are not sent.
    /// - Throws: SQLite errors.
    /// - Complexity: O(schema)
    func schemaStatements(of schema: ReplicaSchema) throws -> [String] {
        let tables = Set(schema.tables.map { SQLName.folded($0.name) })
        let select = try Statement(
            """
            SELECT type, tbl_name, sql FROM sqlite_schema
            WHERE sql IS NOT NULL AND type IN ('table', 'index')
              AND name NOT LIKE 'syncd\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY type = 'index', rowid
            """, on: connection)
        var statements: [String] = []
        while try select.step() {
            guard tables.contains(SQLName.folded(select.text(1) ?? "")) else { continue }
            statements.append(select.text(2) ?? "")
        }
        return statements
    }
}
