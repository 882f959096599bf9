import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Makes the triggers right within a merge's transaction, after another program has changed the
    /// schema.
    ///
    /// What the tables alone do not decide is refused, and nothing is changed: whether a table that
    /// is missing was dropped on purpose; whether a rebuilt table has a new column, or one under
    /// another name. What SQLite's RENAME renamed is known.
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
        let renamed = layout == entity.layout ? [:] : layout.renamed ?? [:]
        func folded(_ names: some Sequence<String>) -> Set<String> {
            Set(names.map(SQLName.folded))
        }
        let kept = folded(renamed.values)
        let before = entity.layout.columns
        let dropped = before.filter {
            !kept.contains(SQLName.folded($0))
                && !folded(layout.columns).contains(SQLName.folded($0))
        }
        let known = folded(before).union(folded(renamed.keys))
        let added = layout.columns.filter { !known.contains(SQLName.folded($0)) }
        guard let dropped = dropped.first, let added = added.first else { return }
        throw SyncError(
            .refused,
            "another program rebuilt the table \(table) with a column \(added) and without the "
                + "column \(dropped): whether that is a new name does not show",
            hint: "If it is, rebuild it with \(dropped), then run: synctool alter DB "
                + Shell.quoted(
                    "ALTER TABLE \(SQLName.quoted(table)) RENAME COLUMN \(SQLName.quoted(dropped)) "
                        + "TO \(SQLName.quoted(added))")
                + "; if \(dropped) was dropped and \(added) is new, run: synctool doctor --mend DB")
    }
}
