import GRDB
import SyncStorage
import SyncValues

/// Starts, checks and ends the recording of a database's history.
///
/// Works on one connection, each call in one transaction: a failure leaves everything as it was.
/// The user's tables are never altered; what is added begins with `syncd_`.
package struct Tracker: Sendable {
    package let queue: DatabaseQueue
    /// The clock of what is found by comparing, milliseconds since 1970; nil: SQLite's.
    package var wall: (@Sendable () -> Int64)?
    /// How long ``track(entities:options:)`` keeps writers waiting.
    var pace = TrackPace()

    /// Tracks over a connection that the caller opened with ``DatabaseOpener``.
    package init(_ queue: DatabaseQueue) { self.queue = queue }

    /// Opens the file and tracks over a new connection.
    /// - Throws: as ``DatabaseOpener``.
    package init(path: String) throws { queue = try DatabaseOpener.open(path, for: .writing) }

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
    /// Tables that are recorded already stay as they are, so that the call can be repeated at will;
    /// but options that they are given are added: old values are kept from now on, or values of
    /// deleted rows no longer.
    ///
    /// - Parameter options: by table name; a new table without an entry gets the defaults.
    /// - Throws: `cannotTrack` when the database has objects of its own named `syncd_…`,
    ///   `unknownEntity` for a table and `invalidArgument` for a column that does not exist,
    ///   `newerFormat`, `busy`,
    ///   `readOnly`, `corrupt`.
    /// - Complexity: O(columns of the schema); rows are not read. Writers wait for a slice at most:
    ///   see ``track(entities:options:mending:alongside:)``.
    @discardableResult
    package func track(
        entities: EntityFilter = .all, options: [String: CaptureOptions] = [:]
    ) throws -> TrackReport {
        try track(
            entities: entities, options: options, mending: { _, _ in nil }, alongside: { _ in })
    }

    /// What is read once for all tables: for each one it would make tracking quadratic.
    package struct Known {
        /// The live entities, by folded name.
        let live: [String: TrackedEntity]
        let context: CaptureContext
        /// For tables without options of their own.
        let options: CaptureOptions

        init(_ db: Database, context: CaptureContext) throws {
            live = Dictionary(try EntityTable(db).live().map { (SQLName.folded($0.name), $0) }) {
                first, _ in first
            }
            self.context = context
            options = try CaptureOptions.ofNewTables(db)
        }
    }

    /// Records one table, unless it is recorded or cannot be.
    ///
    /// - Parameter known: nil: is read.
    /// - Throws: `invalidArgument` for a column that does not exist; the error of SQLite.
    func track(
        _ table: TableSchema, in db: Database, entities: EntityFilter,
        options: [String: CaptureOptions], known: Known? = nil
    ) throws -> TrackReport.Outcome {
        if let reason = Self.reasonToLeaveAlone(table) { return .leftAlone(reason) }
        let all =
            try known
            ?? Known(db, context: CaptureContext(db))
        let known = all.live[SQLName.folded(table.name)]
        let chosen = options.first { SQLName.isEqual($0.key, to: table.name) }?.value
        if let known {
            guard let chosen, entities.includes(table.name) else {
                return .alreadyTracked(entity: known.id)
            }
            return .alreadyTracked(entity: try add(chosen, to: known, on: table, in: db))
        }
        guard entities.includes(table.name) else { return .leftAlone(.filteredOut) }
        let layout = try CaptureLayout(table, options: chosen ?? all.options)
        let entity = try EntityTable(db).insert(name: table.name, layout: layout)
        for trigger in triggers(for: entity, on: table, in: all.context).all {
            try db.execute(sql: trigger.sql)
        }
        try noticeReturn(db, of: table.name)
        return .tracked(entity: entity.id)
    }

    /// Records a table with more options than before, under the next number.
    ///
    /// - Returns: the number of its entity now.
    private func add(
        _ chosen: CaptureOptions, to entity: TrackedEntity, on table: TableSchema, in db: Database
    ) throws -> Int64 {
        var options = entity.layout.options()
        options.undo = options.undo || chosen.undo
        if chosen.kept == .none { options.kept = .none }
        let present = try PresentTrigger.all(db).filter { $0.entity == entity.id }
        guard options != entity.layout.options(),
            // Else it has to be repaired first.
            try currentLayout(of: entity, table: table, triggers: present) == entity.layout
        else { return entity.id }
        var layout = try CaptureLayout(table, options: options)
        layout.previous = entity.id
        try dropTriggers(db, of: entity.id)
        try EntityTable(db).retire(entity)
        let successor = try EntityTable(db).insert(name: table.name, layout: layout)
        for trigger in triggers(for: successor, on: table, in: try CaptureContext(db)).all {
            try db.execute(sql: trigger.sql)
        }
        return successor.id
    }

    /// A table that was recorded before may have changes that were not recorded meanwhile.
    private func noticeReturn(_ db: Database, of table: String) throws {
        guard try Metadata(db).isStated(), try Metadata(db).integerIfPresent(.unseen) != 1,
            try EntityTable(db).all().contains(where: {
                $0.isRetired && SQLName.isEqual($0.name, to: table)
            })
        else { return }
        try Metadata(db).set(.unseen, to: .integer(1))
    }

    /// Why a table cannot be recorded; nil when it can.
    package static func reasonToLeaveAlone(_ table: TableSchema) -> TrackReport.Reason? {
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

    /// The triggers that an entity has to have.
    func triggers(
        for entity: TrackedEntity, on table: TableSchema, in context: CaptureContext
    ) -> CaptureTriggers {
        CaptureTriggers(
            entity: entity.id, table: table, layout: entity.layout,
            context: context.table(table.name))
    }

    /// Makes ``verify(thoroughly:)`` return at once until the schema changes again. Not while
    /// something is wrong that needs a repair.
    func rememberSchema(_ db: Database) throws {
        if try findings(db).contains(where: { $0.problem != .newTable }) { return }
        try setVerified(db)
    }

    /// What ``verify(thoroughly:)`` would find wrong with the schema as it is now is new tables.
    func setVerified(_ db: Database) throws {
        try Metadata(db).set(.schema, to: .integer(try SchemaReader(db).schemaVersion()))
        try Metadata(db).set(.triggers, to: .integer(CaptureTriggers.version))
    }

    /// Runs `body` in a write transaction.
    /// - Parameter alone: in the rollback modes also keeps readers out, from its beginning on.
    /// - Throws: what `body` throws, with operation and file.
    package func write<T>(
        _ operation: String, alone: Bool = false, body: (Database) throws -> T
    ) throws -> T {
        do {
            return try queue.writeWithoutTransaction { db in
                var result: T?
                try db.inTransaction(alone ? .exclusive : .immediate) {
                    result = try body(db)
                    return .commit
                }
                guard let result else {
                    throw SyncError(.internalFault, "a transaction gave no result")
                }
                return result
            }
        } catch {
            throw named(error, operation: operation)
        }
    }

    package func named(_ error: any Error, operation: String) -> any Error {
        guard var error = SyncError(wrapping: error) else { return error }
        error.operation = error.operation ?? operation
        error.path = error.path ?? queue.path
        return error
    }

    // MARK: Refusals

    func refuseUnknownNames(
        entities: EntityFilter, options: [String: CaptureOptions], tables: [TableSchema]
    ) throws {
        var names = options.keys.filter { $0 != CaptureOptions.newTables }
        if case .only(let only) = entities { names += only }
        for name in names where !tables.contains(where: { SQLName.isEqual($0.name, to: name) }) {
            throw SyncError(
                .unknownEntity, "no such table: \(name)",
                hint: "List the tables: sqlite3 DB .tables")
        }
    }
}
