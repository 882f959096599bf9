import GRDB

extension Tracker {
    /// Makes the triggers right again, records what was written while they were wrong
    /// (``Recovery``), and says what was wrong.
    ///
    /// An entity whose table has changed is retired, and the table goes on under the next number
    /// with a layout that names the one before. New tables are recorded when all tables are, and
    /// else left to ``track(entities:options:)``.
    ///
    /// - Parameter comparing: compares every table, also those whose triggers are right: somebody
    ///   may have written with triggers switched off.
    /// - Throws: `notTracked`, `newerFormat`, `busy`, `corrupt`.
    /// - Complexity: O(rows) of the tables that are compared; writers wait meanwhile.
    @discardableResult
    public func repairCapture(comparing: Bool = false) throws -> RepairReport {
        try write("repair") { db in
            try StoreMeta.requireReadable(db)
            return try repairCapture(db, comparingAll: comparing)
        }
    }

    /// The same within a transaction.
    ///
    /// - Parameter excluded: problems that are left as they are.
    @discardableResult
    func repairCapture(
        _ db: Database, but excluded: [CaptureFinding.Problem] = [], comparingAll: Bool = false
    ) throws -> RepairReport {
        var findings = try findings(db).filter { !excluded.contains($0.problem) }
        let tables = try SchemaReader(db).tables()
        try StoreSchema.create(db, keyColumns: tables.map(\.key.count).max() ?? 1)
        let entities = try Entity.live(db)
        var suspects = comparingAll ? entities.map(\.id) : []
        for finding in findings {
            guard let entity = entities.first(where: { $0.id == finding.entity }) else {
                continue
            }
            try repair(db, entity, finding, tables)
            if finding.mayHaveLostChanges, !comparingAll { suspects.append(entity.id) }
        }
        var new: [Int64] = []
        if try StoreMeta.recordsNewTables(db) {
            for index in findings.indices where findings[index].problem == .newTable {
                guard let table = tables.first(where: { $0.name == findings[index].table }),
                    case .tracked(let entity) = try track(db, table, .all, [:])
                else { continue }
                findings[index].entity = entity
                new.append(entity)
            }
        }
        let recovered = try recover(db, suspects, new)
        try rememberSchema(db)
        return RepairReport(findings: findings, recoveredCount: recovered)
    }

    private func recover(_ db: Database, _ suspects: [Int64], _ new: [Int64]) throws -> Int {
        guard !suspects.isEmpty || !new.isEmpty, let recovery = try Recovery(db) else { return 0 }
        for entity in new { try recovery.takeAsNew(entity) }
        for entity in suspects + new { try recovery.compare(entity) }
        try recovery.finish()
        return recovery.count
    }

    private func repair(
        _ db: Database, _ entity: Entity, _ finding: CaptureFinding, _ tables: [TableSchema]
    ) throws {
        let present = try PresentTrigger.all(db).filter { $0.entity == entity.id }
        let name = present.first?.table ?? entity.name
        try dropTriggers(db, of: entity.id)
        guard finding.problem != .tableDropped,
            let table = tables.first(where: { SQLName.equal($0.name, name) }),
            Self.reasonToLeaveAlone(table) == nil
        else { return try entity.retire(db) }
        var successor = entity
        let layout = try currentLayout(of: entity, table, present)
        if layout != entity.layout || table.name != entity.name {
            try entity.retire(db)
            successor = try Entity.insert(db, name: table.name, layout: layout)
        }
        for trigger in try triggers(db, successor, table).all {
            try db.execute(sql: trigger.sql)
        }
    }
}
