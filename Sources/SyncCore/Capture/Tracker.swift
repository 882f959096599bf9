import GRDB
import SyncStorage
import SyncValues

/// Starts, checks and ends the recording of a database's history.
///
/// Works on one connection, each call in one transaction: a failure leaves everything as it was.
/// The user's tables are never altered; what is added begins with `syncd_`.
public struct Tracker: Sendable {
    package let queue: DatabaseQueue
    /// The clock of what is found by comparing, milliseconds since 1970; nil: SQLite's.
    package var wall: (@Sendable () -> Int64)?

    /// Tracks over a connection of one's own. It should come from ``StoreFile/open(_:)``.
    public init(_ queue: DatabaseQueue) { self.queue = queue }

    /// Opens the file and tracks over a new connection.
    /// - Throws: as ``StoreFile/open(_:)``.
    public init(path: String) throws { queue = try StoreFile.open(path) }

    /// Calls `body` with the file that is open.
    func verifyFile(_ body: (FileIdentity) throws -> Void) throws {
        try queue.inDatabase { db in
            guard let connection = db.sqliteConnection,
                let file = FileIdentity(openedBy: connection)
            else {
                throw SyncError(.internalFault, "SQLite does not say which file it has open")
            }
            try body(file)
        }
    }

    /// Records every table that `entities` lets pass; with `.all`, from now on every new one, too.
    /// Tables that are recorded already stay as they are, so that the call can be repeated at will.
    ///
    /// - Parameter options: by table name; a table without an entry gets the defaults.
    /// - Throws: `cannotTrack` when the database has objects of its own named `syncd_…`,
    ///   `invalidArgument` for a table or column that does not exist, `newerFormat`, `busy`,
    ///   `readOnly`, `corrupt`.
    /// - Complexity: O(columns of the schema); rows are not read.
    @discardableResult
    public func track(
        entities: EntityFilter = .all, options: [String: CaptureOptions] = [:]
    ) throws -> TrackReport {
        try track(entities: entities, options: options, alongside: { _ in })
    }

    /// - Parameters:
    ///   - mending: repairs a store of which something was dropped, within the same transaction;
    ///     nil when nothing was.
    ///   - alongside: what else belongs into the same transaction.
    package func track(
        entities: EntityFilter, options: [String: CaptureOptions],
        mending: (Database) throws -> RepairReport? = { _ in nil },
        alongside: (Database) throws -> Void
    ) throws -> TrackReport {
        try write("track") { db in
            try StoreMeta.requireKnownFormat(db)
            let repair = try StoreDamage.isUntracked(db) ? nil : mending(db)
            if try StoreDamage.isUntracked(db) {
                try refuseReservedNames(db)
            } else {
                try StoreMeta.requireReadable(db)
                try StoreObjects(db).requireNoClash(db)
            }
            let tables = try SchemaReader(db).tables()
            try refuseUnknownNames(entities, options, tables)
            try StoreSchema.create(db, keyColumns: tables.map(\.key.count).max() ?? 1)
            if try StoreMeta.integer(db, "format") == nil { try StoreMeta.create(db) }
            let entries = try tables.filter { !SQLName.isOwn($0.name) }.map { table in
                TrackReport.Entry(
                    table: table.name,
                    outcome: try track(db, table, entities, options))
            }
            let isNew = entries.contains { entry in
                if case .tracked = entry.outcome { true } else { false }
            }
            // Its rows have to be stated: no log row tells of them.
            if try isNew && StoreMeta.isStated(db) { try StoreMeta.set(db, StoreMeta.unseen, 1) }
            try alongside(db)
            if entities == .all { try StoreMeta.set(db, StoreMeta.tables, StoreMeta.allTables) }
            try rememberSchema(db)
            return TrackReport(
                store: try StoreMeta.bytes(db, "store") ?? [],
                replica: try StoreMeta.bytes(db, "replica") ?? [], entries: entries, repair: repair)
        }
    }

    package func track(
        _ db: Database, _ table: TableSchema, _ entities: EntityFilter,
        _ options: [String: CaptureOptions]
    ) throws -> TrackReport.Outcome {
        if let reason = Self.reasonToLeaveAlone(table) { return .leftAlone(reason) }
        let known = try Entity.live(db).first { SQLName.equal($0.name, table.name) }
        if let known { return .alreadyTracked(entity: known.id) }
        guard entities.includes(table.name) else { return .leftAlone(.filteredOut) }
        let chosen = options.first { SQLName.equal($0.key, table.name) }?.value
        let layout = try CaptureLayout(table, chosen ?? CaptureOptions())
        let entity = try Entity.insert(db, name: table.name, layout: layout)
        for trigger in try triggers(db, entity, table).all { try db.execute(sql: trigger.sql) }
        try noticeReturn(db, of: table.name)
        return .tracked(entity: entity.id)
    }

    /// A table that was recorded before may hold what nobody recorded meanwhile.
    private func noticeReturn(_ db: Database, of table: String) throws {
        guard try StoreMeta.isStated(db),
            try Entity.all(db).contains(where: { $0.isRetired && SQLName.equal($0.name, table) })
        else { return }
        try StoreMeta.set(db, StoreMeta.unseen, 1)
    }

    /// Why a table cannot be recorded; nil when it can.
    static func reasonToLeaveAlone(_ table: TableSchema) -> TrackReport.Reason? {
        switch table.kind {
        case .system: return .internal
        case .view: return .view
        case .virtual: return .virtual
        case .shadow: return .shadow
        case .table: break
        }
        if table.key.isEmpty { return .noDeclaredKey }
        if table.columns.count > columnsMax { return .tooManyColumns }
        return nil
    }

    /// SQLite holds 2,000 columns in a table by default; programs may set a lower limit than that
    /// on what a trigger's expressions take.
    static let columnsMax = 1_900

    // MARK: Steps that others share

    package func triggers(_ db: Database, _ entity: Entity, _ table: TableSchema) throws
        -> CaptureTriggers
    {
        CaptureTriggers(
            entity: entity.id, table: table, layout: entity.layout,
            isNested: try UserTriggers.write(db, to: table.name))
    }

    /// Makes ``verify()`` look no further until the schema changes again. Not while something is
    /// wrong that only a repair puts right.
    func rememberSchema(_ db: Database) throws {
        if try findings(db).contains(where: { $0.problem != .newTable }) { return }
        try StoreMeta.set(db, "schema", try SchemaReader(db).schemaVersion())
    }

    package func write<T>(_ operation: String, _ body: (Database) throws -> T) throws -> T {
        do {
            return try queue.writeWithoutTransaction { db in
                var result: T?
                try db.inTransaction(.immediate) {
                    result = try body(db)
                    return .commit
                }
                guard let result else {
                    throw SyncError(.internalFault, "a transaction gave no result")
                }
                return result
            }
        } catch {
            throw named(error, operation)
        }
    }

    package func named(_ error: any Error, _ operation: String) -> any Error {
        guard var error = SyncError.wrapping(error) as? SyncError else { return error }
        error.operation = error.operation ?? operation
        error.path = error.path ?? queue.path
        return error
    }

    // MARK: Refusals

    private func refuseReservedNames(_ db: Database) throws {
        guard let object = try StoreObjects(db).foreign.first else { return }
        throw SyncError(
            .cannotTrack, "the database has a \(object.description) of its own",
            hint: "Names beginning with syncd_ belong to syncd: rename it, or drop it")
    }

    private func refuseUnknownNames(
        _ entities: EntityFilter, _ options: [String: CaptureOptions], _ tables: [TableSchema]
    ) throws {
        var names = Array(options.keys)
        if case .only(let only) = entities { names += only }
        for name in names where !tables.contains(where: { SQLName.equal($0.name, name) }) {
            throw SyncError(
                .invalidArgument, "there is no table \(name)",
                hint: "List them with: sqlite3 FILE .tables")
        }
    }
}
