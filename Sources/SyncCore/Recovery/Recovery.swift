import GRDB
import SyncStorage
import SyncValues

/// Finds changes that were made while the triggers were missing, and records them.
///
/// Compares the rows of a table with their fingerprints, within the transaction that has put the
/// triggers right, so that nothing is written in between that neither of them sees. What differs
/// goes into the log between a recovery marker and its end: it becomes one transaction flagged
/// `recovered`.
///
/// What was there before is not known, only that it was another: a recovered update names all
/// properties, and a recovered delete has no values. An object that the log says was changed after
/// its last fingerprint was taken (some seconds ago at most, in a store that is digested) counts as
/// changed again where triggers were missing: a change reported twice does less harm than a missed
/// one. Where the triggers are right, the log explains it, and nothing is recorded. A comparison
/// takes the fingerprints of all rows of its table, so that a next one finds what came after it.
///
/// - Complexity: O(rows of the table), about a microsecond each; writers wait meanwhile.
final class Recovery {
    private let database: Database
    private let connection: OpaquePointer
    private let catalog: EntityCatalog
    private let prints: FingerprintTable
    private let log: LogAppender
    private let recent: RecentChanges
    private let isCounting: Bool
    /// The lineages whose tables were compared from beginning to end.
    private var compared: Set<Int64> = []
    private let migration: Migration?
    /// How many changes were recorded, or found.
    private(set) var count = 0
    /// The tables of which only the presence of the rows was compared, because a column was
    /// dropped.
    private(set) var partlyCompared: Set<String> = []
    /// The rows of which no more was compared. They have new fingerprints, unless it only counts.
    private(set) var partlyComparedCount = 0

    /// - Parameters:
    ///   - time: when it is, milliseconds since 1970; nil: by SQLite's clock.
    ///   - isCounting: what is found is counted, and nothing is written.
    ///   - migration: during which the triggers were missing; nil: unknown.
    /// - Returns: nil for a store that keeps no fingerprints.
    init?(
        _ database: Database, at time: Int64? = nil, isCounting: Bool = false,
        after migration: Migration? = nil
    ) throws {
        guard let connection = database.sqliteConnection,
            try FingerprintTable.exists(connection)
        else { return nil }
        self.database = database
        self.migration = migration
        self.connection = connection
        self.isCounting = isCounting
        catalog = try EntityCatalog(connection)
        prints = try FingerprintTable(connection)
        log = try LogAppender(connection, at: time)
        recent = try RecentChanges(connection, catalog: catalog)
    }

    /// Every row of the entity's table is new: it was made while all tables were to be recorded.
    func takeAsNew(_ entity: Int64) throws {
        try prints.setComplete(try catalog.entity(entity)?.lineage ?? entity)
    }

    /// Whether every row that the table had at some moment has, or had, a fingerprint: only then
    /// does ``compare(_:)`` find everything.
    func isComplete(_ entity: Int64) throws -> Bool {
        try prints.isComplete(try catalog.entity(entity)?.lineage ?? entity)
    }

    /// The table that an entity is or was one of, and why its rows cannot be read in this process;
    /// nil when they can, or there is no such table any more.
    func obstacle(to entity: Int64) throws -> (table: String, reason: String)? {
        guard let before = try catalog.entity(entity),
            let now = catalog.present(of: before.lineage),
            let reason = try EntityRows.obstacle(to: now, on: connection)
        else { return nil }
        return (now.name, reason)
    }

    /// Records what was written into columns that were added while the triggers stood: the triggers
    /// saw everything else. Needs no fingerprints.
    ///
    /// A row that was inserted recently is no exception: readers may have been told of it before
    /// the column was added.
    func recordAdded(_ entity: Int64) throws {
        guard let before = try catalog.entity(entity),
            let now = catalog.present(of: before.lineage)
        else { return }
        let added = try AddedColumns(database, of: now, catalog: catalog)
        for key in added.sortedKeys {
            try record(.update, of: now, key: key, mask: added.mask)
        }
    }

    /// Compares the table that `entity` is or was an entity of.
    ///
    /// - Parameters:
    ///   - isCaptured: its triggers are right, or miss at most rows that were replaced: what the
    ///     log has of an object is not taken for a change that it does not have.
    ///   - isGrown: but for columns that were added since its last layout.
    func compare(_ entity: Int64, isCaptured: Bool = false, isGrown: Bool = false) throws {
        guard let before = try catalog.entity(entity) else { return }
        compared.insert(before.lineage)
        if let now = catalog.present(of: before.lineage) {
            let rows = try EntityRows(
                connection, of: now, rowID: TableSchema.rowIDName(of: now.name, on: connection))
            let matched = try compareRows(
                rows, of: now, isCaptured: isCaptured, isGrown: isGrown
            ).matched
            guard matched < (try prints.count(before.lineage)) || recent.has(before.lineage) else {
                return
            }
            try recordMissing(now) { try rows.state(of: $0) == nil }
        } else {
            try recordMissing(before) { _ in true }
        }
    }

    /// Compares a page of the rows of a table whose triggers are right and whose fingerprints are
    /// complete.
    ///
    /// - Returns: where the next page begins; nil after the last one.
    func compareRows(
        of entity: TrackedEntity, after position: EntityRows.Position, count: Int
    ) throws -> EntityRows.Position? {
        let rows = try EntityRows(
            connection, of: entity,
            rowID: TableSchema.rowIDName(of: entity.name, on: connection))
        return try compareRows(
            rows, of: entity, isCaptured: true, after: position, count: count
        ).next
    }

    /// How many objects of the entity were written after their fingerprints were taken, and not
    /// deleted: their values are those of the log, or later ones, which is not known.
    func recentCount(of entity: TrackedEntity) -> Int {
        recent.keys(entity.lineage).count {
            recent.kind(lineage: entity.lineage, key: $0) != .delete
        }
    }

    /// Takes the rows of a table as they are, where a column was dropped within this transaction,
    /// and nothing else was changed: their fingerprints cannot be compared any more.
    func renewPrints(_ entity: Int64) throws {
        guard let before = try catalog.entity(entity),
            let now = catalog.present(of: before.lineage), now.id != before.id,
            try positions(of: before.id, in: now) == nil
        else { return }
        let rows = try EntityRows(
            connection, of: now, rowID: TableSchema.rowIDName(of: now.name, on: connection))
        _ = try rows.forEach(after: .start, count: .max) { key, row in
            guard let known = try prints.known(lineage: now.lineage, key: key),
                known.entity != now.id
            else { return }
            try prints.put(lineage: now.lineage, key: key, known: rows.known(row))
        }
    }

    /// Looks for the rows of a page of the fingerprints of such a table, and after the last page
    /// for those that were inserted since.
    ///
    /// - Returns: the key after which the next page begins; nil after the last one.
    func compareKeys(of entity: TrackedEntity, after key: Value?, count: Int) throws -> Value? {
        let rows = try EntityRows(
            connection, of: entity,
            rowID: TableSchema.rowIDName(of: entity.name, on: connection))
        let keys = try FingerprintTable.keys(
            of: entity.lineage, after: key, count: count, on: connection)
        for key in keys where try rows.state(of: NetChange.key(stored: key, entity)) == nil {
            if recent.kind(lineage: entity.lineage, key: key) != .delete {
                try record(.delete, of: entity, key: key)
            }
            if !isCounting { try prints.remove(lineage: entity.lineage, key: key) }
        }
        guard keys.count < count else { return keys.last }
        for key in recent.keys(entity.lineage)
        where try recent.kind(lineage: entity.lineage, key: key) != .delete
            && prints.known(lineage: entity.lineage, key: key) == nil
            && rows.state(of: NetChange.key(stored: key, entity)) == nil
        {
            try record(.delete, of: entity, key: key)
        }
        return nil
    }

    /// Ends the transaction of what was found, and notes which fingerprints are those of now.
    func finish() throws {
        if isCounting { return }
        if count > 0 { try log.end() }
        guard !compared.isEmpty else { return }
        try Metadata(connection).setFingerprints(
            of: compared, currentAt: LogTable.newest(on: connection))
    }

    // MARK: Rows that are there

    /// - Returns: where the next page begins, and how many rows had a fingerprint.
    private func compareRows(
        _ rows: EntityRows, of now: TrackedEntity, isCaptured: Bool, isGrown: Bool = false,
        after position: EntityRows.Position = .start, count: Int = .max
    ) throws -> (next: EntityRows.Position?, matched: Int64) {
        let lineage = now.lineage
        let isComplete = try prints.isComplete(lineage)
        let added = try AddedColumns(database, of: now, catalog: catalog)
        var layouts: [Int64: [Int32]?] = [:]
        var matched: Int64 = 0
        let next = try rows.forEach(after: position, count: count) { key, row in
            let present = rows.known(row)
            let known = try prints.known(lineage: lineage, key: key)
            if known != nil { matched += 1 }
            if let kind = recent.kind(lineage: lineage, key: key) {
                if kind == .delete {
                    try record(.insert, of: now, key: key)
                } else if !isCaptured {
                    try record(.update, of: now, key: key, mask: now.nonKeyMask)
                } else if isGrown, added.contains(key) {
                    try record(.update, of: now, key: key, mask: added.mask)
                }
            } else if let known {
                let columns = try layouts[known.entity] ?? positions(of: known.entity, in: now)
                layouts[known.entity] = .some(columns)
                if let columns, Fingerprint.of(row, columns: columns) != known.print {
                    try record(.update, of: now, key: key, mask: now.nonKeyMask)
                } else if known.entity != now.id, added.contains(key) {
                    try record(.update, of: now, key: key, mask: added.mask)
                } else if columns != nil {
                    return
                }
                // Without a column that was dropped meanwhile there is nothing to compare with. The
                // row is taken as it is, so that the next comparison finds what comes after it.
                if columns == nil {
                    partlyCompared.insert(now.name)
                    partlyComparedCount += 1
                }
            } else if isComplete {
                try record(.insert, of: now, key: key)
            } else if added.contains(key) {
                try record(.update, of: now, key: key, mask: added.mask)
            } else {
                return
            }
            if !isCounting { try prints.put(lineage: lineage, key: key, known: present) }
        }
        return (next, matched)
    }

    /// The present positions of the columns of an earlier layout; nil when one of them was dropped.
    private func positions(of old: Int64, in now: TrackedEntity) throws -> [Int32]? {
        guard let names = try catalog.names(of: old, in: now) else { return nil }
        var positions: [Int32] = []
        for name in names {
            guard let name, let index = now.columnNames.firstIndex(of: name) else { return nil }
            positions.append(Int32(index))
        }
        return positions
    }

    // MARK: Rows that are not there

    private func recordMissing(
        _ entity: TrackedEntity, where isMissing: (ObjectKey) throws -> Bool
    ) throws {
        var keys = Set(recent.keys(entity.lineage))
        keys.formUnion(try FingerprintTable.keys(of: entity.lineage, on: connection))
        var missing: [Value] = []
        for key in keys where try isMissing(NetChange.key(stored: key, entity)) {
            missing.append(key)
        }
        for key in missing.sorted(by: { $0.description < $1.description }) {
            if recent.kind(lineage: entity.lineage, key: key) != .delete {
                try record(.delete, of: entity, key: key)
            }
            try prints.remove(lineage: entity.lineage, key: key)
        }
    }

    // MARK: Recording

    private func record(
        _ kind: LogKind, of entity: TrackedEntity, key: Value, mask: ColumnMask = ColumnMask()
    ) throws {
        count += 1
        if isCounting { return }
        if count == 1 { try log.beginRecovery(of: migration) }
        let speaker = kind == .insert ? entity : try catalog.withoutValues(entity, in: database)
        try log.append(
            kind, of: speaker, mask: mask, values: try NetChange.key(stored: key, entity).values)
    }
}
