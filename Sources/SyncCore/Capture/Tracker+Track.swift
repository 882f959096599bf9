import GRDB
import Glibc
import SyncStorage
import SyncValues

/// Recording the tables, in slices where there are many.
///
/// A slice is one transaction, and leaves each of its tables with its entity and all of its
/// triggers. The first one also makes the store, and notes that all tables are to be recorded: a
/// table that no slice has come to is then a new table like any other (`newTable`), which
/// ``verify(thoroughly:)`` names and the next repair or ``track(entities:options:)`` records. Until
/// the last slice nothing says that the schema was verified.
///
/// With options, or a choice of tables, all is one transaction: nothing in the file would say how
/// to continue. That holds writers up for as long as it takes.
extension Tracker {
    /// The page cache meanwhile. SQLite reads the whole schema for each trigger that it creates,
    /// and a cache that is smaller than the schema reads it from the file each time.
    private static let cacheKibibytes = 65_536

    /// - Parameters:
    ///   - mending: repairs a store of which something was dropped, within the first transaction;
    ///     gets whether the triggers were found right, and gives nil when nothing was dropped.
    ///   - alongside: what else belongs into the first transaction.
    /// - Throws: as ``track(entities:options:)``; what the closures throw.
    /// - Complexity: O(columns of the schema), and in SQLite O(triggers²) comparisons of names.
    package func track(
        entities: EntityFilter, options: [String: CaptureOptions],
        mending: (_ db: Database, _ triggersAreRight: Bool) throws -> RepairReport?,
        alongside: (Database) throws -> Void
    ) throws -> TrackReport {
        do {
            return try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA cache_size = -\(Self.cacheKibibytes)")
                defer {
                    try? db.execute(
                        sql: "PRAGMA cache_size = -\(DatabaseOpener.cacheKibibytes)")
                    try? db.execute(sql: "PRAGMA shrink_memory")
                }
                var work = TrackWork(
                    look: try Self.reading(db) { try SchemaLook(db, for: self) },
                    tablesAtOnceMax: pace.tablesAtOnceMax, entities: entities, options: options)
                let report = try Self.writing(db) {
                    try begin(&work, in: db, mending: mending, alongside: alongside)
                    try recordSlice(&work, in: db)
                    if !work.isLarge { try rememberSchema(db) }
                    return TrackReport(
                        store: try Metadata(db).storeID(), replica: try Metadata(db).replicaID(),
                        entries: [], repair: work.repair)
                }
                try recordRest(&work, in: db)
                if work.isLarge { try rememberSchemaBesideWriters(db) }
                return TrackReport(
                    store: report.store, replica: report.replica, entries: work.entries,
                    repair: work.repair)
            }
        } catch {
            throw named(error, operation: "track")
        }
    }

    /// Makes the store what it has to be before tables are recorded.
    func begin(
        _ work: inout TrackWork, in db: Database,
        mending: (_ db: Database, _ triggersAreRight: Bool) throws -> RepairReport?,
        alongside: (Database) throws -> Void
    ) throws {
        try Metadata(db).requireKnownFormat()
        try work.renewLook(db, for: self)
        if !work.look.isUntracked {
            work.repair = try mending(db, work.look.triggersAreRight)
            if work.repair != nil { work.look = try SchemaLook(db, for: self) }
        }
        if !work.look.isUntracked { try StoreDamage.requireReadable(db) }
        try work.look.refuseReservedNames()
        try refuseUnknownNames(
            entities: work.entities, options: work.options, tables: work.look.tables)
        try StoreSchema.create(db, keyColumns: work.look.tables.map(\.key.count).max() ?? 1)
        if try Metadata(db).integerIfPresent(.format) == nil { try Metadata(db).createStore() }
        try alongside(db)
        if work.entities == .all { try Metadata(db).setNewTables(.all) }
        try work.options[CaptureOptions.newTables]?.addForNewTables(db)
        try work.start(db)
    }

    /// Records tables until the time of a slice is over, or all of them.
    func recordSlice(_ work: inout TrackWork, in db: Database) throws {
        let start = ContinuousClock.now
        var isNew = false
        while let table = work.next {
            let outcome = try track(
                table, in: db, entities: work.entities, options: work.options, known: work.known)
            work.finish(table, outcome)
            if case .tracked = outcome { isNew = true }
            if work.isSliced, start.duration(to: .now) >= pace.sliceTime { break }
        }
        // Its rows have to be translated to facts: the log does not have them.
        if try isNew && Metadata(db).isStated() {
            try Metadata(db).set(.unseen, to: .integer(1))
        }
        work.look.version = try SchemaReader(db).schemaVersion()
    }

    private func recordRest(_ work: inout TrackWork, in db: Database) throws {
        while work.next != nil {
            usleep(UInt32(pace.pause / .microseconds(1)))
            try pace.betweenSlices?()
            try Self.writing(db) {
                if try work.renewLook(db, for: self) {
                    // Another program has changed the schema since, or removed all that is ours.
                    try StoreDamage.requireReadable(db)
                    try work.look.refuseReservedNames()
                    try StoreSchema.create(
                        db, keyColumns: work.look.tables.map(\.key.count).max() ?? 1)
                    try work.start(db)
                }
                try recordSlice(&work, in: db)
            }
        }
    }

    /// ``rememberSchema(_:)`` for a large schema: verifies it before the lock is taken.
    private func rememberSchemaBesideWriters(_ db: Database) throws {
        let verified = try Self.reading(db) {
            try findings(db).contains { $0.problem != .newTable }
                ? nil : SchemaReader(db).schemaVersion()
        }
        guard let verified else { return }
        try Self.writing(db) {
            if try SchemaReader(db).schemaVersion() == verified { try setVerified(db) }
        }
    }

    private static func reading<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        try transaction(db, .deferred, body)
    }

    static func writing<T>(_ db: Database, _ body: () throws -> T) throws -> T {
        try transaction(db, .immediate, body)
    }

    private static func transaction<T>(
        _ db: Database, _ kind: Database.TransactionKind, _ body: () throws -> T
    ) throws -> T {
        var result: T?
        try db.inTransaction(kind) {
            result = try body()
            return .commit
        }
        guard let result else {
            throw SyncError(.internalFault, "a transaction gave no result")
        }
        return result
    }
}

/// How long tracking keeps other writers waiting.
struct TrackPace: Sendable {
    /// Up to this number of tables, SQLite's own among them, is recorded in one transaction: that
    /// takes milliseconds.
    var tablesAtOnceMax = 32
    /// How long a slice works before it commits: the commit, on a slow disk, comes on top of it.
    var sliceTime = Duration.milliseconds(40)
    /// How long the lock is free between two slices: a writer that found the file busy tries again
    /// at intervals, and meets a gap soon when gaps are as long as slices. Longer ones would make
    /// the call longer.
    var pause = Duration.milliseconds(40)
    /// Runs between two slices, without the lock; what it throws ends the call. For tests.
    var betweenSlices: (@Sendable () throws -> Void)?
}

/// How far a call of `track` has come.
struct TrackWork {
    var look: SchemaLook
    let tablesAtOnceMax: Int
    let entities: EntityFilter
    let options: [String: CaptureOptions]
    var repair: RepairReport?
    /// What is read once for all tables.
    private(set) var known: Tracker.Known?
    private var waiting: ArraySlice<TableSchema> = []
    private var outcomes: [String: TrackReport.Outcome] = [:]

    init(
        look: SchemaLook, tablesAtOnceMax: Int, entities: EntityFilter,
        options: [String: CaptureOptions]
    ) {
        (self.look, self.tablesAtOnceMax) = (look, tablesAtOnceMax)
        (self.entities, self.options) = (entities, options)
    }

    /// The schema is not verified under the lock.
    var isLarge: Bool { look.tables.count > tablesAtOnceMax }

    /// Several transactions are allowed: the file says how to continue.
    var isSliced: Bool { isLarge && entities == .all && options.isEmpty }

    /// The table whose turn it is; nil: all are done.
    var next: TableSchema? { waiting.first }

    /// What was done with every table, in order of name.
    var entries: [TrackReport.Entry] {
        look.tables.compactMap { table in
            outcomes[table.name].map { TrackReport.Entry(table: table.name, outcome: $0) }
        }
    }

    /// Reads the schema again where another program has changed it.
    /// - Returns: whether it has.
    @discardableResult
    mutating func renewLook(_ db: Database, for tracker: Tracker) throws -> Bool {
        guard try SchemaReader(db).schemaVersion() != look.version else { return false }
        look = try SchemaLook(db, for: tracker)
        return true
    }

    /// Begins with the first table that has no outcome yet.
    mutating func start(_ db: Database) throws {
        known = try Tracker.Known(db, context: look.context)
        waiting = look.tables.filter { !SQLName.isOwn($0.name) && outcomes[$0.name] == nil }[...]
    }

    mutating func finish(_ table: TableSchema, _ outcome: TrackReport.Outcome) {
        outcomes[table.name] = outcome
        waiting.removeFirst()
    }
}
