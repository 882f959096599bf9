import GRDB
import SyncStorage
import SyncValues

/// Makes a store again of what is left of one whose tables were dropped, within one transaction.
///
/// Rules:
/// - What can be made again without a loss is made again: the guard, the marker, the indexes.
/// - A transaction is kept only whole: without headers, changes or entities, history is dropped as
///   a whole, and the log with the entities.
/// - When history or log is lost, tokens of before lead nowhere (the next epoch). No number is
///   given twice: an empty log begins at the newest number known.
/// - What merging has stored is of use only with the identity of the replica and with its history:
///   a part of it would make other replicas merge nonsense. A store that was synchronised leaves
///   its family when any of it is lost.
struct StoreMending {
    private let db: Database
    private let tracker: Tracker
    private let objects: StoreObjects
    private let missing: Set<String>
    private let hasIdentity: Bool
    private let wasReplica: Bool
    /// The triggers that are there have entities.
    private let hasEntities: Bool
    /// What is gone.
    private(set) var losses: [StoreLoss] = []

    /// - Throws: `cannotTrack` when objects of somebody else have names that are needed.
    init(_ db: Database, _ tracker: Tracker, _ damage: StoreDamage?) throws {
        self.db = db
        self.tracker = tracker
        objects = try StoreObjects(db)
        missing = Set(damage?.missing ?? [])
        hasIdentity = damage?.hasIdentity ?? true
        let replication = StoreBlueprint.tables(.replication)
        let hasMerged = try StoreMeta.hasMerged(db)
        wasReplica = hasMerged || objects.missing(replication).count < replication.count
        let live = try objects.has("syncd_entity") ? Entity.live(db) : []
        hasEntities =
            objects.has("syncd_entity") && (!live.isEmpty || objects.captureTriggers.isEmpty)
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
            let known = Set(try Entity.live(db).map { SQLName.folded($0.name) })
            let recordable = tables.filter(Self.isRecordable)
            if recordable.allSatisfy({ known.contains(SQLName.folded($0.name)) }) {
                try StoreMeta.set(db, StoreMeta.tables, StoreMeta.allTables)
            }
        }
        try renewIdentity()
    }

    private func isLost(_ table: String) -> Bool { missing.contains(table) }

    /// What was written is not in the log any more, or its history is not whole.
    var mayHaveLostChanges: Bool { isLogLost || isHistoryLost }

    private var isHistoryLost: Bool {
        !hasEntities || isLost("syncd_transaction") || isLost("syncd_change")
    }

    private var isLogLost: Bool { isLost("syncd_log") || !hasEntities }

    // MARK: Numbers

    /// The newest number of which anything that is left knows.
    private func newestNumber() throws -> Int64 {
        var newest: Int64 = 0
        let columns = [
            ("syncd_log", "seq"), ("syncd_transaction", "number"), ("syncd_change", "seq"),
            ("syncd_consumer", "acknowledged"), ("syncd_header", "number"),
        ]
        for (table, column) in columns where objects.has(table) {
            newest = max(newest, try number("SELECT max(\(column)) FROM \(table)"))
        }
        guard objects.has("syncd_meta") else { return newest }
        return max(
            newest,
            try number(
                """
                SELECT max(value) FROM syncd_meta WHERE typeof(value) = 'integer'
                  AND key IN ('digested', 'purged', 'stated', 'fingerprinted')
                """))
    }

    /// Up to which number the history tables hold what was logged.
    private func digestedNumber() throws -> Int64 {
        if hasIdentity {
            return try number("SELECT value FROM syncd_meta WHERE key = 'digested'")
        }
        if objects.has("syncd_transaction") {
            return try number("SELECT max(number) FROM syncd_transaction")
        }
        return objects.has("syncd_change") ? try number("SELECT max(seq) FROM syncd_change") : 0
    }

    private func number(_ sql: String) throws -> Int64 {
        max(0, try Int64.fetchOne(db, sql: sql) ?? 0)
    }

    // MARK: Identity

    private func makeIdentity(digested: Int64) throws {
        try db.execute(sql: StoreSchema.meta)
        try db.execute(sql: "DELETE FROM syncd_meta")
        try StoreMeta.create(db)
        try StoreMeta.set(db, "digested", digested)
        var entities: Int64 = 0
        if objects.has("syncd_entity") {
            entities = try number("SELECT max(id) FROM syncd_entity")
        }
        for table in ["syncd_log", "syncd_change"] where objects.has(table) {
            entities = max(entities, try number("SELECT max(op) >> 3 FROM \(table)"))
        }
        entities = max(entities, objects.captureTriggers.map(\.entity).max() ?? 0)
        try StoreMeta.set(db, "entities", entities)
    }

    /// The next epoch when tokens of before would lead into something else; another store when
    /// merging could go on only with half of what it knew.
    private mutating func renewIdentity() throws {
        let isLost = mayHaveLostChanges
        let isReplicationLost =
            wasReplica && !objects.missing(StoreBlueprint.tables(.replication)).isEmpty
        guard !hasIdentity || isLost || isReplicationLost else {
            if wasReplica {
                for sql in StoreBlueprint.replication { try db.execute(sql: sql) }
            }
            return
        }
        if hasIdentity {
            let epoch = try number("SELECT value FROM syncd_meta WHERE key = 'epoch'")
            try StoreMeta.set(db, "epoch", min(epoch, .max - 1) + 1)
        }
        if objects.has("syncd_join") { try db.execute(sql: "DROP TABLE syncd_join") }
        guard wasReplica else { return }
        let replication = Set(StoreBlueprint.tables(.replication))
        try objects.dropOwn(db) { $0.type == "table" && replication.contains($0.name) }
        try db.execute(
            sql: """
                DELETE FROM syncd_meta
                WHERE key IN ('stated', 'clock', 'former', 'collected', 'behind', 'collectedAt',
                    'sent', 'unseen', 'gone', 'keys')
                """)
        if hasIdentity { try StoreMeta.renewIdentity(db) }
        losses.append(.replication)
    }

    // MARK: Rows

    private mutating func mendHistory(newest: Int64, digested: Int64) throws {
        if isHistoryLost {
            for table in ["syncd_transaction", "syncd_change", "syncd_who"] {
                try db.execute(sql: "DELETE FROM \(table)")
            }
            losses.append(.history)
        }
        if isLogLost {
            // The newest row of a log always stays, so that no number is given twice. The end of a
            // marker that was never begun: no reader makes anything of it.
            try db.execute(sql: "DELETE FROM syncd_log")
            try db.execute(
                sql: "INSERT INTO syncd_log(seq, op, m) VALUES(?, 0, 1)",
                arguments: [max(1, newest)])
            // Changes beyond it are of a transaction whose end was in the log.
            try db.execute(sql: "DELETE FROM syncd_change WHERE seq > ?", arguments: [digested])
            try StoreMeta.set(db, "digested", max(1, newest))
            if !isHistoryLost { losses.append(.log) }
        }
        // Nothing of the new epoch is before the beginning of what is left.
        if isHistoryLost { try StoreMeta.set(db, "purged", 0) }
    }

    private mutating func mendReaders() throws {
        if isLost("syncd_who"), !isHistoryLost {
            try db.execute(sql: "UPDATE syncd_transaction SET who = NULL WHERE who IS NOT NULL")
            losses.append(.authors)
        }
        if isLost("syncd_consumer") { losses.append(.consumers) }
    }

    /// Prints and what says that they are complete belong together, and both to the numbers of
    /// entities and of what was digested.
    private mutating func mendFingerprints() throws {
        let isLost =
            isLost("syncd_fingerprint") || isLost("syncd_lineage") || !hasEntities
            || !hasIdentity
        guard isLost else { return }
        try db.execute(sql: "DELETE FROM syncd_fingerprint")
        try db.execute(sql: "DELETE FROM syncd_lineage")
        let digested = try number("SELECT value FROM syncd_meta WHERE key = 'digested'")
        try StoreMeta.set(db, "fingerprinted", digested)
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
        if try number("SELECT value FROM syncd_meta WHERE key = 'entities'") < entities {
            try StoreMeta.set(db, "entities", entities)
        }
        let recordsAll = try hadAll || StoreMeta.recordsNewTables(db)
        for table in recordable {
            let former = triggers[SQLName.folded(table.name)] ?? []
            guard recordsAll || !former.isEmpty else { continue }
            let options = try options(of: table, former)
            if !former.isEmpty, options == nil { losses.append(.options(table: table.name)) }
            _ = try tracker.track(
                db, table, .all, options.map { [table.name: $0] } ?? [:])
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
        let name = "syncd_\(number)"
        func matches(_ options: CaptureOptions, _ letter: String) throws -> Bool {
            let layout = try CaptureLayout(table, options)
            let entity = Entity(id: number, name: table.name, layout: layout, isRetired: false)
            let wanted = try tracker.triggers(db, entity, table).all
            let sql = wanted.first { $0.name == "\(name)_\(letter)" }?.sql
            return sql == present["\(name)_\(letter)"]
        }
        for undo in [false, true] where try matches(CaptureOptions(undo: undo), "u") {
            for kept in [CaptureOptions.Kept.all, .none] {
                let options = CaptureOptions(kept: kept, undo: undo)
                if try matches(options, "d") { return options }
            }
        }
        return nil
    }
}
