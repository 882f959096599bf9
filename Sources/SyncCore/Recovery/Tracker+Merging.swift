import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Makes the triggers right within a merge's transaction, after another program has changed the
    /// schema.
    ///
    /// What the tables alone do not decide is refused, and nothing is changed: whether a column
    /// that is missing, or has another name, was dropped on purpose.
    /// - Throws: `refused`; `busy` while a migration runs.
    @discardableResult
    package func repairForMerging(_ db: Database) throws -> RepairReport {
        _ = try Migration.requireNoneRunning(in: db)
        let findings = try findings(db)
        if try Metadata(db).isStated() { try refuseLosses(in: db, among: findings) }
        guard !findings.isEmpty else {
            try rememberSchema(db)
            return RepairReport(findings: [], recoveredCount: 0)
        }
        return try repairCapture(db, byRecord: true)
    }

    /// The tables that are not recorded although they were not excluded.
    /// - Throws: the error of SQLite.
    package func unrecordedTables(_ db: Database) throws -> [String] {
        guard try Metadata(db).namesNewTables() else { return [] }
        return try findings(db).filter { $0.problem == .newTable }.map(\.table)
    }

    /// Refuses what the tables alone do not decide, in a store that has stated its rows.
    func refuseLosses(in db: Database, among findings: [CaptureFinding]) throws {
        let tables = try SchemaReader(db).tables()
        let entities = try EntityTable(db).live()
        let triggers = try PresentTrigger.all(db)
        for finding in findings {
            guard let entity = entities.first(where: { $0.id == finding.entity }) else { continue }
            let present = triggers.filter { $0.entity == entity.id }
            let name = present.first?.table ?? entity.name
            let table = tables.first { SQLName.isEqual($0.name, to: name) }
            guard let table, Self.reasonToLeaveAlone(table) == nil else {
                throw SyncError(
                    .refused,
                    table == nil
                        ? "another program dropped the table \(entity.name)"
                        : "the table \(entity.name) no longer has a primary key",
                    hint: "Restore it; or, to synchronise the rest without it, run: "
                        + "synctool doctor --mend DB")
            }
            // Here is another table of the same name: it takes the place of this one.
            if finding.problem == .tableDropped { continue }
            try refuseLosses(
                of: entity, layout: try currentLayout(of: entity, table: table, triggers: present),
                table: table.name)
        }
    }

    private func refuseLosses(
        of entity: TrackedEntity, layout: CaptureLayout, table: String
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
                hint: "Restore it; or, to continue without it, run: synctool doctor --mend DB")
        }
    }
}
