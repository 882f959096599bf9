import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Makes the triggers right within a merge's transaction, after another program has changed the
    /// schema.
    ///
    /// What cannot be told from the tables alone is refused, and nothing is changed: whether a
    /// column that has gone, or has another name, is to go for good.
    /// - Throws: `refused`.
    @discardableResult
    package func repairForMerging(_ db: Database) throws -> RepairReport {
        let findings = try findings(db)
        if try StoreMeta.isStated(db) { try refuseLosses(db, findings) }
        guard !findings.isEmpty else {
            try rememberSchema(db)
            return RepairReport(findings: [], recoveredCount: 0)
        }
        return try repairCapture(db, byRecord: true)
    }

    /// The tables that nobody has chosen to leave out, and that are not recorded.
    package func unrecordedTables(_ db: Database) throws -> [String] {
        guard try StoreMeta.namesNewTables(db) else { return [] }
        return try findings(db).filter { $0.problem == .newTable }.map(\.table)
    }

    /// Refuses what the tables alone do not decide, in a store that has stated its rows.
    func refuseLosses(_ db: Database, _ findings: [CaptureFinding]) throws {
        let tables = try SchemaReader(db).tables()
        let entities = try Entity.live(db)
        let triggers = try PresentTrigger.all(db)
        for finding in findings {
            guard let entity = entities.first(where: { $0.id == finding.entity }) else { continue }
            let present = triggers.filter { $0.entity == entity.id }
            let name = present.first?.table ?? entity.name
            let table = tables.first { SQLName.equal($0.name, name) }
            guard let table, Self.reasonToLeaveAlone(table) == nil else {
                throw SyncError(
                    .refused,
                    table == nil
                        ? "another program dropped the table \(entity.name)"
                        : "the table \(entity.name) has no primary key any more",
                    hint: "Put it back, or, to synchronise the rest without it, run: "
                        + "synctool doctor --mend DB")
            }
            // Here is another table of the same name: it takes the place of this one.
            if finding.problem == .tableDropped { continue }
            try refuseLosses(entity, try currentLayout(of: entity, table, present), table.name)
        }
    }

    private func refuseLosses(
        _ entity: Entity, _ layout: CaptureLayout, _ table: String
    ) throws {
        let before = entity.layout
        if layout != before, let renamed = layout.renamed?.min(by: { $0.key < $1.key }) {
            throw SyncError(
                .refused,
                "another program renamed the column \(renamed.value) of \(table) to \(renamed.key)",
                hint:
                    "Rename it back with ALTER TABLE, or, to take \(renamed.key) for a new column "
                    + "and \(renamed.value) for a dropped one, run: synctool doctor --mend DB")
        }
        let names = Set(layout.columns.map(SQLName.folded))
        if let dropped = before.columns.first(where: { !names.contains(SQLName.folded($0)) }) {
            throw SyncError(
                .refused, "another program dropped the column \(dropped) of \(table)",
                hint: "Put it back, or, to go on without it, run: synctool doctor --mend DB")
        }
    }
}
