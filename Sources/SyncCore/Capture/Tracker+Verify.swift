import GRDB
import SyncStorage
import SyncValues

extension Tracker {
    /// Compares the triggers that are there with those that should be.
    ///
    /// Costs one pragma while the schema has not changed since the last complete check.
    /// - Throws: `notTracked`, `newerFormat`, `busy`, `corrupt`.
    /// - Complexity: O(columns of the schema) when it has changed.
    /// - Parameter thoroughly: checks also when the schema has not changed, and so reports again
    ///   the new tables that were not recorded on purpose.
    package func verify(thoroughly: Bool = false) throws -> [CaptureFinding] {
        do {
            return try queue.read { db in
                try StoreDamage.requireReadable(db)
                let remembered = try Metadata(db).integerIfPresent(.schema)
                let isSame = remembered == (try SchemaReader(db).schemaVersion())
                if !thoroughly, isSame, try !hasOlderTriggers(db) { return [] }
                if let migration = try Migration.stored(in: db), migration.isRunning {
                    return [migration.finding]
                }
                return try findings(db)
            }
        } catch {
            throw named(error, operation: "verify")
        }
    }

    /// The triggers are those of an earlier version of syncd.
    private func hasOlderTriggers(_ db: Database) throws -> Bool {
        try Metadata(db).integer(.triggers) < CaptureTriggers.version
    }

    // MARK: Checking

    func findings(_ db: Database) throws -> [CaptureFinding] {
        var findings: [CaptureFinding] = []
        for name in try missingObjects(db) {
            findings.append(
                CaptureFinding(entity: nil, table: name, problem: .storeObjectMissing(name)))
        }
        let tables = try SchemaReader(db).tables()
        let triggers = try PresentTrigger.all(db)
        let live = Set(try EntityTable(db).live().map(\.id))
        for (table, orphans) in Dictionary(grouping: triggers, by: \.table).sorted(by: {
            $0.key < $1.key
        }) {
            let names = orphans.filter { !live.contains($0.entity) && $0.isOwn }.map(\.name)
            guard !names.isEmpty else { continue }
            findings.append(
                CaptureFinding(entity: nil, table: table, problem: .triggersOrphaned(names)))
        }
        let present = Dictionary(
            grouping: triggers.filter { live.contains($0.entity) }, by: \.entity)
        let context = try CaptureContext(db)
        // An earlier version found them right, and nothing has changed since.
        let wereRight =
            try hasOlderTriggers(db)
            && Metadata(db).integerIfPresent(.schema) == SchemaReader(db).schemaVersion()
        let lastUserTrigger = try UserTriggers.lastPositions(db)
        let byName = Dictionary(tables.map { (SQLName.folded($0.name), $0) }) { first, _ in first }
        // A table that has the triggers of one entity belongs to no other, whatever its name was.
        var accounted = Set(present.values.compactMap { $0.first.map { SQLName.folded($0.table) } })
        for entity in try EntityTable(db).live() {
            let triggers = present[entity.id] ?? []
            let name = triggers.first?.table ?? entity.name
            let isFree =
                triggers.isEmpty
                ? accounted.insert(SQLName.folded(name)).inserted : true
            let table = isFree ? byName[SQLName.folded(name)] : nil
            let problem = try problem(
                of: entity, table: table, triggers: triggers, context: context,
                wereRight: wereRight,
                lastUserTrigger: lastUserTrigger[SQLName.folded(name)] ?? 0)
            if let problem {
                findings.append(
                    CaptureFinding(entity: entity.id, table: entity.name, problem: problem))
            }
        }
        for table in tables
        where !SQLName.isOwn(table.name) && Self.reasonToLeaveAlone(table) == nil {
            if accounted.contains(SQLName.folded(table.name)) { continue }
            findings.append(CaptureFinding(entity: nil, table: table.name, problem: .newTable))
        }
        return findings
    }

    /// Objects of the store that are missing, where its tables are there.
    private func missingObjects(_ db: Database) throws -> [String] {
        let objects = try StoreObjects(db)
        let present = Set(objects.own.map(\.name))
        let wanted = StoreBlueprint.items.values.filter { item in
            switch item.part {
            case .capture: true
            case .history, .replication: item.type == "index" && present.contains(item.table)
            case .extents, .names, .sums, .schema, .remotes: false
            }
        }
        return wanted.map(\.name).filter { !present.contains($0) }.sorted()
            + (try StoreDamage.missingReplication(db))
    }

    private func problem(
        of entity: TrackedEntity, table: TableSchema?, triggers present: [PresentTrigger],
        context: CaptureContext, wereRight: Bool, lastUserTrigger: Int64
    ) throws -> CaptureFinding.Problem? {
        guard let table, Self.reasonToLeaveAlone(table) == nil else { return .tableDropped }
        let layout = try currentLayout(of: entity, table: table, triggers: present)
        let triggers = triggers(
            for: TrackedEntity(id: entity.id, name: table.name, layout: layout, isRetired: false),
            on: table, in: context)
        if !triggers.equal(present) {
            if wereRight || triggers.recordTheSame(present) { return .triggersWithoutCauses }
            if triggers.missOnlyVictims(present) { return .replacedRowsUnseen }
            let missing = triggers.missing(among: present)
            return missing.isEmpty ? .triggersOutdated : .triggersMissing(missing)
        }
        if !layout.isSpelled(as: entity.layout) || !table.name.hasBytes(of: entity.name) {
            return .renamed(to: table.name)
        }
        if present.contains(where: { $0.position < lastUserTrigger }) { return .triggersOutOfOrder }
        return nil
    }

    /// The layout for the present table, with the columns renamed since.
    ///
    /// The update trigger names every column, so that none can be dropped while it is there; and it
    /// is dropped with the table. While it exists, columns were added at the end or renamed where
    /// they are, and SQLite has rewritten the names in it: the same place is the same column.
    func currentLayout(
        of entity: TrackedEntity, table: TableSchema, triggers present: [PresentTrigger]
    ) throws -> CaptureLayout {
        let old = entity.layout
        let columns = table.storedColumns.map(\.name)
        var renamed: [String: String] = [:]
        if let placeholder = present.first(where: { $0.letter == PlaceholderTrigger.letter }) {
            let names = PlaceholderTrigger.columns(in: placeholder.sql) ?? []
            for (before, now) in zip(old.columns, names) where !before.hasBytes(of: now) {
                if columns.contains(now) { renamed[now] = before }
            }
        } else if present.contains(where: { $0.letter == "u" })
            || old.columns.count == old.key.count
        {
            for (before, now) in zip(old.columns, columns)
            where !before.hasBytes(of: now) && !present.isEmpty {
                renamed[now] = before
            }
        }
        var options = old.options()
        if case .columns(let kept) = options.kept {
            let toNew = Dictionary(renamed.map { ($0.value, $0.key) }) { first, _ in first }
            options.kept = .columns(
                kept.map { toNew[$0] ?? $0 }.filter { name in
                    columns.contains { SQLName.isEqual($0, to: name) }
                })
        }
        var layout = try CaptureLayout(table, options: options)
        (layout.previous, layout.renamed) = (old.previous, old.renamed)
        if old.choice == nil { layout.choice = nil }
        if !layout.isSpelled(as: old) || !table.name.hasBytes(of: entity.name) {
            layout.previous = entity.id
            layout.renamed = renamed.isEmpty ? nil : renamed
        }
        return layout
    }
}

extension CaptureTriggers {
    /// These are the triggers that are there.
    ///
    /// - Parameter letters: the triggers of these may be missing, and others.
    func equal(_ present: [PresentTrigger], but letters: [Character] = []) -> Bool {
        func counts(_ name: String) -> Bool {
            TriggerName(name).map { !letters.contains($0.letter) } ?? true
        }
        let expected = all.filter { counts($0.name) }
        let sql = Dictionary(
            uniqueKeysWithValues: present.filter { counts($0.name) }.map { ($0.name, $0.sql) })
        return expected.count == sql.count
            && expected.allSatisfy { sql[$0.name] == $0.sql }
    }

    /// The triggers that are there were right for the table before its UNIQUE indexes changed, or
    /// a user trigger came to write to it: all they may miss are rows that are replaced.
    ///
    /// Which indexes there were is not known. The triggers that record the rows that a statement
    /// names differ in one thing alone: whether there were any.
    fileprivate func missOnlyVictims(_ present: [PresentTrigger]) -> Bool {
        let there = Set(present.map(\.letter))
        guard Self.guarding.allSatisfy(there.contains) else { return false }
        let tables = [table.withoutAlternateKeys, table.withAnAlternateKey]
        return CaptureContext.Table.all.contains { earlier in
            tables.contains { former in
                CaptureTriggers(entity: entity, table: former, layout: layout, context: earlier)
                    .equal(present, but: Self.ofVictims)
            }
        }
    }

    /// The names of the triggers that are not there; those of earlier versions had other names.
    fileprivate func missing(among present: [PresentTrigger]) -> [String] {
        let letters = Set(present.map(\.letter))
        // Without a UNIQUE index there is none that looks for what an update replaces.
        let isNew = Self.guarding.allSatisfy(letters.contains)
        return all.map(\.name).filter { name in
            guard let letter = TriggerName(name)?.letter else { return true }
            return !letters.contains(letter) && !(isNew && Self.ofVictims.contains(letter))
        }
    }

    /// The triggers before each insert and update, which every table has.
    private static let guarding: [Character] = ["g", "h"]
    /// Those, and the one after an update, which tables without UNIQUE indexes lack: they are for
    /// rows that are replaced, and for no others.
    private static let ofVictims: [Character] = guarding + ["r"]

    /// The triggers that are there were right for the table before others came to refer to it or
    /// ceased to, or while a user trigger wrote to it: they miss no row.
    fileprivate func recordTheSame(_ present: [PresentTrigger]) -> Bool {
        context.variants.contains { variant in
            CaptureTriggers(entity: entity, table: table, layout: layout, context: variant)
                .equal(present)
        }
    }
}

extension UserTriggers {
    /// By table: the place in the schema of the newest trigger that is not ours.
    static func lastPositions(_ db: Database) throws -> [String: Int64] {
        var positions: [String: Int64] = [:]
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT tbl_name, rowid FROM main.sqlite_schema
                WHERE type = 'trigger' AND name NOT LIKE 'syncd\\_%' ESCAPE '\\' ORDER BY rowid
                """)
        for row in rows { positions[SQLName.folded(row["tbl_name"])] = row["rowid"] }
        return positions
    }
}
