import CSQLite
import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Makes the triggers right again, records what was written while they were wrong
    /// (``Recovery``), and says what was wrong.
    ///
    /// An entity whose table has changed is retired, and the table goes on under the next number
    /// with a layout that names the one before. New tables are recorded when all tables are, and
    /// else left to ``track(entities:options:)``.
    ///
    /// - Parameters:
    ///   - comparing: compares every table, also those whose triggers are right: a writer may have
    ///     switched triggers off.
    ///   - isWaiting: false: no statement of this connection waits for a lock any more; throws
    ///     `busy` at once when another connection is within a transaction. In the rollback modes
    ///     readers wait until the repair is done: one that was let in could not write afterwards,
    ///     because SQLite refuses a reader that turns writer while another has the write lock.
    /// - Throws: `notTracked`, `newerFormat`, `busy`, `corrupt`; `storeDamaged` when tables of the
    ///   store are missing, for which there is ``mend(alongside:)``.
    /// - Complexity: O(rows) of the tables that are compared; writers wait meanwhile.
    @discardableResult
    package func repairCapture(
        comparing: Bool = false, isWaiting: Bool = true
    ) throws -> RepairReport {
        func repair() throws -> RepairReport {
            try write("repair", alone: !isWaiting) { db in
                try StoreDamage.requireReadable(db)
                return try repairCapture(db, comparingAll: comparing)
            }
        }
        if isWaiting { return try repair() }
        queue.inDatabase { db in
            if let connection = db.sqliteConnection { sqlite3_busy_timeout(connection, 0) }
        }
        return try repair()
    }

    /// Makes a store again of what is left of one whose tables were dropped (``StoreMending``), and
    /// says what is lost.
    ///
    /// - Parameters:
    ///   - comparing: compares every table. Without it they are compared when changes may be lost.
    ///   - isAttended: somebody reads the report, and has read what an unattended repair noted.
    ///   - alongside: what else belongs into the same transaction.
    /// - Throws: `notTracked` when nothing is left; `cannotTrack` when objects of other programs
    ///   have names that are needed; `newerFormat`, `busy`, `corrupt`.
    /// - Complexity: O(rows); writers wait meanwhile.
    package func mend(
        comparing: Bool, isAttended: Bool, alongside: (Database) throws -> Void
    ) throws -> RepairReport {
        try write("mend") { db in
            try Metadata(db).requireKnownFormat()
            if try StoreDamage.isUntracked(db) { throw Metadata.notTracked }
            let report = try mend(db, comparing: comparing, alongside: alongside)
            if isAttended {
                try Metadata(db).set(.remade, to: .null)
            } else if report.isNewStore {
                try Metadata(db).set(.remade, to: .integer(Timestamp.now().milliseconds))
            }
            return report
        }
    }

    /// The same within a transaction, for a database that has something of a store.
    /// - Throws: as ``mend(comparing:alongside:)``.
    package func mend(
        _ db: Database, comparing: Bool = false, alongside: (Database) throws -> Void
    ) throws -> RepairReport {
        let damage = try StoreDamage.find(db)
        let isReplicaDamaged = try !StoreDamage.missingReplication(db).isEmpty
        guard damage != nil || isReplicaDamaged else {
            return try repairCapture(db, comparingAll: comparing)
        }
        var mending = try StoreMending(db, tracker: self, damage: damage)
        try mending.run()
        try alongside(db)
        let isComparable = !mending.losses.contains(.fingerprints)
        var report = try repairCapture(
            db, comparingAll: isComparable && (comparing || mending.mayHaveLostChanges))
        report.losses = mending.losses
        report.isIncomparable = !isComparable
        report.missing = damage?.missing ?? []
        report.isLogCut = damage?.isLogCut ?? false
        return report
    }

    /// The same, where something of the store was dropped at all; nothing else is changed.
    ///
    /// - Parameter triggersAreRight: they were found right in the schema as it is now.
    /// - Returns: nil when all of it is there.
    func mendDropped(
        _ db: Database, triggersAreRight: Bool, alongside: (Database) throws -> Void
    ) throws -> RepairReport? {
        guard try StoreDamage.find(db) == nil, try StoreDamage.missingReplication(db).isEmpty
        else { return try mend(db, alongside: alongside) }
        return triggersAreRight ? nil : try repairMissing(db)
    }

    /// Puts right the triggers, and other objects of the store, that another program dropped from
    /// a store whose tables are whole, or changed, and follows tables that were renamed; leaves
    /// every other finding as it is. Within a transaction.
    ///
    /// - Returns: nil when all are right.
    /// - Throws: `refused` where it needs a decision: ``refuseLosses(in:among:)``.
    func repairMissing(_ db: Database) throws -> RepairReport? {
        let findings = try findings(db)
        guard findings.contains(where: \.problem.isDueBeforeTracking) else { return nil }
        let missing = findings.filter(\.problem.isOfOwnObjects)
        if try Metadata(db).isStated() { try refuseLosses(in: db, among: missing) }
        return try repairCapture(
            db, but: findings.map(\.problem).filter { !$0.isDueBeforeTracking })
    }

    /// The same within a transaction.
    ///
    /// - Parameters:
    ///   - excluded: problems that are left as they are.
    ///   - byRecord: a store that merges compares with what it has stated and merged, not with
    ///     fingerprints: ``MergeSession`` does it in its next transaction, or in this one.
    ///   - isNothingMissed: triggers that are missing were dropped within this transaction.
    @discardableResult
    func repairCapture(
        _ db: Database, but excluded: [CaptureFinding.Problem] = [], comparingAll: Bool = false,
        byRecord: Bool = false, isNothingMissed: Bool = false
    ) throws -> RepairReport {
        let migration = try Migration.requireNoneRunning(in: db)
        try StoreObjects(db).requireNoClash(db)
        var findings = try findings(db).filter { !excluded.contains($0.problem) }
        let tables = try SchemaReader(db).tables()
        try StoreSchema.create(db, keyColumns: tables.map(\.key.count).max() ?? 1)
        try makeMissing(in: db, for: findings)
        // Stores of earlier versions lack it.
        if try SchemaReader(db).ownTables().contains(ChangeTable.name) {
            try db.execute(sql: HistoryView.creation)
        }
        let entities = try EntityTable(db).live()
        let context = try CaptureContext(db)
        var due = Comparison()
        due.isMerged = try Metadata(db).isStated()
        due.byRecord = due.isMerged && (byRecord || comparingAll)
        if comparingAll {
            due.suspects = entities
            let wrong = Set(findings.compactMap(\.entity))
            due.captured = Set(entities.map(\.id)).subtracting(wrong)
        }
        for finding in findings {
            guard let entity = entities.first(where: { $0.id == finding.entity }) else {
                continue
            }
            let change = try repair(
                in: db, entity: entity, for: finding, tables: tables, context: context)
            if case .renamed = change { due.hasRenamed = true }
            if case .rekeyed(let successor) = change { due.rekeyed.append(successor) }
            if finding.problem == .replacedRowsUnseen { due.captured.insert(entity.id) }
            if case .grown(let mayMissReplaced) = change {
                due.grown.append(entity)
                due.captured.insert(entity.id)
                if mayMissReplaced, !comparingAll, !isNothingMissed { due.suspects.append(entity) }
            } else if finding.mayHaveLostChanges, !comparingAll {
                if isNothingMissed {
                    due.renewed.append(entity)
                } else {
                    due.suspects.append(entity)
                }
            }
        }
        if try Metadata(db).recordsNewTables() {
            let known = try Known(db, context: context)
            for index in findings.indices where findings[index].problem == .newTable {
                guard let table = tables.first(where: { $0.name == findings[index].table }),
                    case .tracked(let entity) = try track(
                        table, in: db, entities: .all, options: [:], known: known)
                else { continue }
                findings[index].entity = entity
                due.new.append(entity)
            }
        }
        var report = RepairReport(findings: findings, recoveredCount: 0)
        try recover(in: db, comparing: due, after: migration, into: &report)
        if migration != nil, excluded.isEmpty { try Migration.remove(from: db) }
        if comparingAll, report.uncompared.isEmpty, report.unreadable.isEmpty {
            let now = wall?() ?? Timestamp.now().milliseconds
            try FullComparison.setFinished(
                at: Timestamp(milliseconds: now), in: Metadata(db))
        }
        try rememberSchema(db)
        return report
    }

    /// Indexes of the store that were dropped, and triggers of entities that are none any more.
    private func makeMissing(in db: Database, for findings: [CaptureFinding]) throws {
        let missing = findings.compactMap { finding -> String? in
            guard case .storeObjectMissing(let name) = finding.problem else { return nil }
            return name
        }
        let parts = Set(
            missing.compactMap { StoreBlueprint.items[$0] }.filter { $0.type == "index" }
                .map(\.part))
        if parts.contains(.history) {
            for sql in StoreBlueprint.history { try db.execute(sql: sql) }
        }
        if parts.contains(.replication) {
            for sql in StoreBlueprint.replication { try db.execute(sql: sql) }
        }
        let live = Set(try EntityTable(db).live().map(\.id))
        for number in Set(try PresentTrigger.all(db).filter(\.isOwn).map(\.entity)).subtracting(
            live)
        {
            try dropTriggers(db, of: number)
        }
    }

    /// What is to be compared after a repair, and with what.
    private struct Comparison {
        var suspects: [TrackedEntity] = []
        /// Those of them whose triggers recorded all that the log has to have.
        var captured: Set<Int64> = []
        /// Columns were added, and the triggers stood all the time.
        var grown: [TrackedEntity] = []
        var new: [Int64] = []
        /// Changed within this transaction, and nothing was missed.
        var renewed: [TrackedEntity] = []
        /// Tables with another PRIMARY KEY: each row under the former key is gone.
        var rekeyed: [Int64] = []
        var hasRenamed = false
        /// The store has stated its rows: there are records to compare with.
        var isMerged = false
        var byRecord = false

        /// All entities whose rows are to be read.
        var entities: [Int64] { new + rekeyed + (suspects + grown + renewed).map(\.id) }

        mutating func remove(_ entities: Set<Int64>) {
            new.removeAll(where: entities.contains)
            rekeyed.removeAll(where: entities.contains)
            suspects.removeAll { entities.contains($0.id) }
            grown.removeAll { entities.contains($0.id) }
            renewed.removeAll { entities.contains($0.id) }
        }

        var isEmpty: Bool {
            suspects.isEmpty && grown.isEmpty && new.isEmpty && renewed.isEmpty && rekeyed.isEmpty
                && !hasRenamed
        }
    }

    private func recover(
        in db: Database, comparing due: Comparison, after migration: Migration?,
        into report: inout RepairReport
    ) throws {
        guard !due.isEmpty else { return }
        var due = due
        var isLeft = due.isMerged && (due.hasRenamed || !due.rekeyed.isEmpty)
        if let recovery = try Recovery(db, at: wall?(), after: migration) {
            try leaveUnreadable(&due, of: recovery, into: &report)
            for entity in due.new { try recovery.takeAsNew(entity) }
            for entity in due.new { try recovery.compare(entity) }
            for entity in due.renewed { try recovery.renewPrints(entity.id) }
            let isGrown = Set(due.grown.map(\.id))
            for entity in due.grown
            where due.byRecord || !due.suspects.contains(where: { $0.id == entity.id }) {
                try recovery.recordAdded(entity.id)
            }
            // Rows that were inserted since the fingerprints were made are left out there: in a
            // store that has stated them, only its records say what the columns held.
            if due.isMerged, !due.grown.isEmpty { isLeft = true }
            for entity in due.suspects {
                let isComplete = try recovery.isComplete(entity.id)
                if due.isMerged, due.byRecord || !isComplete {
                    isLeft = true
                    continue
                }
                try recovery.compare(
                    entity.id, isCaptured: due.captured.contains(entity.id),
                    isGrown: isGrown.contains(entity.id))
                if !isComplete, !isGrown.contains(entity.id) {
                    report.uncompared.append(entity.name)
                }
            }
            // After the rows of the former key: an object may have the name of one of these.
            for entity in due.rekeyed {
                try recovery.takeAsNew(entity)
                try recovery.compare(entity)
            }
            try recovery.finish()
            report.recoveredCount = recovery.count
            report.partlyCompared = recovery.partlyCompared.sorted()
        } else if due.isMerged {
            isLeft = true
        } else {
            report.uncompared = (due.suspects + due.grown).map(\.name)
        }
        if isLeft {
            report.isComparedWhenMerging = true
            try Metadata(db).set(.unseen, to: .integer(1))
        }
    }

    /// Leaves out the tables whose rows SQLite cannot read in this process, and names them: they
    /// must not keep the others from being compared, nor any table from its triggers.
    private func leaveUnreadable(
        _ due: inout Comparison, of recovery: Recovery, into report: inout RepairReport
    ) throws {
        var left: Set<Int64> = []
        for entity in due.entities where !left.contains(entity) {
            guard let (table, reason) = try recovery.obstacle(to: entity) else { continue }
            report.unreadable[table] = reason
            left.insert(entity)
        }
        if !left.isEmpty { due.remove(left) }
    }

    /// What a repair found to have become of a table.
    private enum TableChange {
        /// Columns were added at the end while all triggers stood; rows may have been replaced
        /// unseen where they are not those of the UNIQUE indexes.
        case grown(mayMissReplaced: Bool)
        /// Columns have other names.
        case renamed
        /// The PRIMARY KEY has other columns; the entity with the new key.
        case rekeyed(Int64)
        case other
    }

    private func repair(
        in db: Database, entity: TrackedEntity, for finding: CaptureFinding,
        tables: [TableSchema], context: CaptureContext
    ) throws -> TableChange {
        let present = try PresentTrigger.all(db).filter { $0.entity == entity.id }
        let name = present.first?.table ?? entity.name
        try dropTriggers(db, of: entity.id)
        guard finding.problem != .tableDropped,
            let table = tables.first(where: { SQLName.isEqual($0.name, to: name) }),
            Self.reasonToLeaveAlone(table) == nil
        else {
            try EntityTable(db).retire(entity)
            if try Metadata(db).isStated(),
                !tables.contains(where: { SQLName.isEqual($0.name, to: entity.name) })
            {
                try Metadata(db).setGoneTables(
                    Metadata(db).goneTables() + [SQLName.folded(entity.name)])
            }
            return .other
        }
        var successor = entity
        var layout = try currentLayout(of: entity, table: table, triggers: present)
        // Otherwise it is the same layout, and its renames are those that led to it.
        let isRekeyed = layout.previous == entity.id && layout.hasOtherKey(than: entity.layout)
        // Its rows are other objects, which are not to be compared with those of the former key.
        if isRekeyed { layout.previous = nil }
        if !layout.isSpelled(as: entity.layout) || !table.name.hasBytes(of: entity.name) {
            try EntityTable(db).retire(entity)
            successor = try EntityTable(db).insert(name: table.name, layout: layout)
        }
        for trigger in triggers(for: successor, on: table, in: context).all {
            try db.execute(sql: trigger.sql)
        }
        guard successor.id != entity.id else { return .other }
        if isRekeyed { return .rekeyed(successor.id) }
        if layout.renamed != nil { return .renamed }
        let isGrown =
            finding.problem == .triggersOutdated && layout.key == entity.layout.key
            && layout.columns.starts(with: entity.layout.columns)
        guard isGrown else { return .other }
        let former = CaptureTriggers(
            entity: entity.id, table: table.withStoredColumns(entity.layout.columns),
            layout: entity.layout, context: context.table(table.name))
        return .grown(mayMissReplaced: !former.equal(present))
    }
}
