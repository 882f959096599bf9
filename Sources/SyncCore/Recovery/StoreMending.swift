import GRDB
import SyncStorage

/// Makes a store again of what is left of one whose tables were dropped, or whose log was emptied,
/// within one transaction.
///
/// Rules:
/// - What can be made again without a loss is made again: the guard, the marker, the indexes.
/// - A transaction is kept only whole: without headers, changes or entities, history is dropped as
///   a whole, and the log with the entities.
/// - When history or log is lost, earlier tokens are invalid (the next epoch). No number is given
///   twice: an empty log begins at the newest number known.
/// - What merging has stored is of use only with the identity of the replica and with its history:
///   a part of it would make other replicas merge nonsense. A store that was synchronised leaves
///   its family when any of it is lost.
struct StoreMending {
    private let db: Database
    private let metadata: Metadata
    private let tracker: Tracker
    private let objects: StoreObjects
    private let missing: Set<String>
    private let hasIdentity: Bool
    private let wasReplica: Bool
    /// The triggers that are there have entities.
    private let hasEntities: Bool
    /// What is gone.
    private(set) var losses: [StoreLoss] = []

    /// - Throws: `cannotTrack` when objects of other programs have names that are needed.
    init(_ db: Database, tracker: Tracker, damage: StoreDamage?) throws {
        self.db = db
        metadata = try Metadata(db)
        self.tracker = tracker
        objects = try StoreObjects(db)
        // A log without its newest rows is of no more use than none.
        missing = Set((damage?.missing ?? []) + (damage?.isLogCut == true ? [LogTable.name] : []))
        hasIdentity = damage?.hasIdentity ?? true
        let replication = StoreBlueprint.tables(.replication)
        let hasMerged = try metadata.hasMerged()
        wasReplica = hasMerged || objects.missing(replication).count < replication.count
        let live = try objects.has(EntityTable.name) ? EntityTable(db).live() : []
        hasEntities =
            objects.has(EntityTable.name) && (!live.isEmpty || objects.captureTriggers.isEmpty)
        try objects.requireNoClash(db)
    }

    // MARK: Steps

    /// Makes what is missing, and puts what is left in agreement with it.
    mutating func run() throws {
        let newest = try newestNumber()
        let digested = try digestedNumber()
        if !hasIdentity {
            try makeIdentity(digested: digested)
            losses.append(.identity)
        }
        let tables = try SchemaReader(db).tables()
        try StoreSchema.create(db, keyColumns: tables.map(\.key.count).max() ?? 1)
        for sql in StoreBlueprint.history { try db.execute(sql: sql) }
        try mendHistory(newest: newest, digested: digested)
        try mendReaders()
        try mendFingerprints()
        if !hasEntities { try trackAgain(tables) }
        if !hasIdentity {
            let known = Set(try EntityTable(db).live().map { SQLName.folded($0.name) })
            let recordable = tables.filter(Self.isRecordable)
            if recordable.allSatisfy({ known.contains(SQLName.folded($0.name)) }) {
                try metadata.setNewTables(.all)
            }
        }
        try renewIdentity()
    }

    private func isLost(_ table: String) -> Bool { missing.contains(table) }

    /// What was written is not in the log any more, or its history is not whole.
    var mayHaveLostChanges: Bool { isLogLost || isHistoryLost }

    private var isHistoryLost: Bool {
        !hasEntities || isLost(TransactionTable.name) || isLost(ChangeTable.name)
    }

    private var isLogLost: Bool { isLost(LogTable.name) || !hasEntities }

    // MARK: Numbers

    /// The newest number of which anything that is left knows.
    private func newestNumber() throws -> Int64 {
        var newest: Int64 = 0
        let columns = [
            (LogTable.name, "seq"), (TransactionTable.name, "number"), (ChangeTable.name, "seq"),
            (ConsumerTable.name, "acknowledged"), ("syncd_header", "number"),
        ]
        for (table, column) in columns where objects.has(table) {
            newest = max(newest, try number("SELECT max(\(column)) FROM \(table)"))
        }
        guard objects.has(Metadata.name) else { return newest }
        return max(newest, try metadata.newestPosition())
    }

    /// Up to which number the history tables hold what was logged.
    private func digestedNumber() throws -> Int64 {
        if hasIdentity {
            return max(0, try metadata.integer(.digested))
        }
        var digested: Int64 = 0
        if objects.has(TransactionTable.name) {
            digested = try number(TransactionTable.newestSQL)
        } else if objects.has(ChangeTable.name) {
            digested = try number(ChangeTable.newestSQL)
        }
        guard objects.has(LogTable.name) else { return digested }
        // What was digested and left no transaction is not in the log.
        let first = try number("SELECT min(seq) FROM \(LogTable.name) WHERE seq > \(digested)")
        return max(digested, first - 1)
    }

    private func number(_ sql: String) throws -> Int64 {
        max(0, try Int64.fetchOne(db, sql: sql) ?? 0)
    }

    // MARK: Identity

    private func makeIdentity(digested: Int64) throws {
        try db.execute(sql: Metadata.creation)
        try metadata.deleteAll()
        try metadata.createStore()
        try metadata.set(.digested, to: .integer(digested))
        var entities: Int64 = 0
        if objects.has(EntityTable.name) {
            entities = try EntityTable(db).newestNumber()
        }
        for table in [LogTable.name, ChangeTable.name] where objects.has(table) {
            entities = max(entities, try number("SELECT max(op) >> 3 FROM \(table)"))
        }
        entities = max(entities, objects.captureTriggers.map(\.entity).max() ?? 0)
        try metadata.set(.entities, to: .integer(entities))
    }

    /// The next epoch when earlier tokens would refer to other transactions; another store when a
    /// part of the merge records is lost.
    private mutating func renewIdentity() throws {
        let isLost = mayHaveLostChanges
        let isReplicationLost = try wasReplica && !StoreDamage.missingReplication(db).isEmpty
        guard !hasIdentity || isLost || isReplicationLost else {
            if wasReplica {
                for sql in StoreBlueprint.replication { try db.execute(sql: sql) }
            }
            return
        }
        let separated = try SeparatedStore(db, objects: objects)
        if hasIdentity { try separated.beginEpoch() }
        if objects.has("syncd_join") { try db.execute(sql: "DROP TABLE syncd_join") }
        guard wasReplica else { return }
        try separated.dropRecords(areRemotesKept: true)
        if hasIdentity { try metadata.renewIdentity() }
        losses.append(.replication)
    }

    // MARK: Rows

    private mutating func mendHistory(newest: Int64, digested: Int64) throws {
        if isHistoryLost {
            for table in [TransactionTable.name, ChangeTable.name, TransactionTable.authors] {
                try db.execute(sql: "DELETE FROM \(table)")
            }
            losses.append(.history)
        }
        if isLogLost {
            try db.execute(sql: LogTable.deleteAllSQL)
            try Statement(LogTable.keepNumberSQL, on: db.openConnection)
                .run(.integer(max(1, newest)))
            // Changes beyond it are of a transaction whose end was in the log.
            try Statement(ChangeTable.deleteAfterSQL, on: db.openConnection)
                .run(.integer(digested))
            try LogContinuity(metadata).setDigested(max(1, newest))
            if !isHistoryLost { losses.append(.log) }
        }
        // Nothing of the new epoch is before the beginning of what is left.
        if isHistoryLost { try metadata.set(.purged, to: .integer(0)) }
    }

    private mutating func mendReaders() throws {
        if isLost(TransactionTable.authors), !isHistoryLost {
            try db.execute(sql: TransactionTable.clearAuthorsSQL)
            losses.append(.authors)
        }
        if isLost(ConsumerTable.name) { losses.append(.consumers) }
    }

    /// Prints and what says that they are complete belong together, and both to the numbers of
    /// entities and of what was digested.
    private mutating func mendFingerprints() throws {
        let isLost =
            isLost(FingerprintTable.name) || isLost(FingerprintTable.lineages) || !hasEntities
            || !hasIdentity
        guard isLost else { return }
        try FingerprintTable.deleteAll(on: db.openConnection)
        let digested = max(0, try metadata.integer(.digested))
        try metadata.set(.fingerprinted, to: .integer(digested))
        losses.append(.fingerprints)
    }

    // MARK: Tables

    private static func isRecordable(_ table: TableSchema) -> Bool {
        !SQLName.isOwn(table.name) && Tracker.reasonToLeaveAlone(table) == nil
    }

    /// Without the entities nothing says which tables were recorded but the triggers on them: those
    /// are recorded again, as new entities, and every other where all tables are.
    private mutating func trackAgain(_ tables: [TableSchema]) throws {
        let triggers = Dictionary(grouping: objects.captureTriggers) {
            SQLName.folded($0.object.table)
        }
        let recordable = tables.filter(Self.isRecordable)
        let hadAll =
            triggers.isEmpty
            || recordable.allSatisfy {
                triggers[SQLName.folded($0.name)] != nil
            }
        try objects.dropOwn(db) { PresentTrigger.number(in: $0.name) != nil }
        let entities = triggers.values.joined().map(\.entity).max() ?? 0
        if try metadata.integer(.entities) < entities {
            try metadata.set(.entities, to: .integer(entities))
        }
        // Without the settings, too, a table too many is better than one whose changes are lost.
        let recordsAll = try hadAll || !hasIdentity || metadata.recordsNewTables()
        for table in recordable {
            let former = triggers[SQLName.folded(table.name)] ?? []
            guard recordsAll || !former.isEmpty else { continue }
            let options = try options(of: table, former)
            if !former.isEmpty, options == nil { losses.append(.options(table: table.name)) }
            _ = try tracker.track(
                table, in: db, entities: .all, options: options.map { [table.name: $0] } ?? [:])
        }
    }

    /// How a table was recorded, as its triggers say; nil when they are not those of any choice
    /// that names no columns.
    private func options(
        of table: TableSchema, _ triggers: [(entity: Int64, object: StoreObjects.Object)]
    ) throws -> CaptureOptions? {
        guard let number = triggers.first?.entity else { return nil }
        let present = Dictionary(
            triggers.filter { $0.entity == number }.map { ($0.object.name, $0.object.sql) },
            uniquingKeysWith: { first, _ in first })
        func matches(_ options: CaptureOptions, letter: Character) throws -> Bool {
            let name = TriggerName(entity: number, letter: letter).text
            let layout = try CaptureLayout(table, options: options)
            let entity = TrackedEntity(
                id: number, name: table.name, layout: layout, isRetired: false)
            let wanted = tracker.triggers(for: entity, on: table, in: try CaptureContext(db)).all
            let sql = wanted.first { $0.name == name }?.sql
            return sql == present[name]
        }
        for undo in [false, true] where try matches(CaptureOptions(undo: undo), letter: "u") {
            for kept in [CaptureOptions.Kept.all, .none] {
                let options = CaptureOptions(kept: kept, undo: undo)
                if try matches(options, letter: "d") { return options }
            }
        }
        return nil
    }
}
