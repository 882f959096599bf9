import GRDB
import SyncStorage
import SyncValues

extension Store {
    /// Begins to record a database: installs triggers, log and history tables, in one transaction.
    ///
    /// The user's tables are not altered. Tables that are recorded already stay as they are, so
    /// that the call can be repeated.
    ///
    /// - Parameters:
    ///   - entities: which tables; all that can be recorded by default.
    ///   - options: what is kept, by table name.
    /// - Returns: what was done with each table, and why not.
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `readOnly`, `notAllowed`,
    ///   `cannotTrack`, `invalidArgument`, `newerFormat`, `busy`.
    @discardableResult
    public static func track(
        _ path: String, entities: EntityFilter = .all, options: [String: CaptureOptions] = [:]
    ) throws -> TrackReport {
        try track(path, entities: entities, options: options) { _ in }
    }

    private static func track(
        _ path: String, entities: EntityFilter, options: [String: CaptureOptions],
        verifying verify: (FileIdentity) throws -> Void
    ) throws -> TrackReport {
        try explaining(path, "track") {
            let tracker = try Tracker(path: path)
            try tracker.verifyFile(verify)
            return try tracker.track(
                entities: entities, options: options,
                mending: { try tracker.mendDropped($0) { try claimFile($0) } },
                alongside: { database in
                    guard let connection = database.sqliteConnection else { return }
                    try HistorySchema.create(connection)
                    try nameFile(database)
                })
        }
    }

    /// Says which file the replica lives in, where nothing says so yet.
    private static func nameFile(_ database: Database) throws {
        guard let connection = database.sqliteConnection else { return }
        let settings = try Settings(connection)
        if case .null = try settings.value(.file),
            let file = FileIdentity(openedBy: connection)
        {
            try settings.set(.file, .text(FileMark(file).text))
            // A backup from before the first push has to say so.
            try settings.set(.sent, .integer(0))
        }
    }

    /// The same for a store that was just repaired; one whose file was copied before becomes a
    /// replica of its own.
    private static func claimFile(_ database: Database) throws {
        try nameFile(database)
        guard let connection = database.sqliteConnection,
            let file = FileIdentity(openedBy: connection)
        else { return }
        try renew(connection, FileMark(file))
    }

    /// Makes a store again of what is left of one whose tables another program dropped, in one
    /// transaction. Of a whole store only the triggers are put right.
    ///
    /// What cannot be made again is in the report's `losses`. When history is among it, tokens of
    /// before are `foreignHistory`; a store that was synchronised becomes a store of its own.
    ///
    /// - Parameter comparing: compares every table with what is remembered of it; without it that
    ///   is done when changes may be lost.
    /// - Throws: ``SyncError``: `notTracked` when nothing of a store is left; `cannotTrack` when
    ///   objects of somebody else have names that are needed; `newerFormat`, `busy`, and what
    ///   opening throws.
    /// - Complexity: O(rows) of all tables; writers wait meanwhile.
    @discardableResult
    public static func mend(_ path: String, comparing: Bool = false) throws -> RepairReport {
        try mend(path, comparing: comparing, isResolved: false)
    }

    /// - Parameter isResolved: as in ``open(_:isResolved:)``.
    @discardableResult
    package static func mend(
        _ path: String, comparing: Bool = false, isResolved: Bool
    ) throws -> RepairReport {
        try explaining(path, "mend") {
            let queue = try StoreConnection.openQueue(
                path, expecting: isResolved ? .unlinked : .any)
            defer { try? queue.close() }
            return try Tracker(queue).mend(comparing: comparing) { try claimFile($0) }
        }
    }

    /// Ends the recording and removes every trace of it: triggers, log, history, consumers.
    ///
    /// Also when only a rest of it is left.
    ///
    /// - Returns: what has a name like ours and stays, because syncd did not make it.
    /// - Throws: ``SyncError``: `notTracked`, and what opening throws.
    @discardableResult
    public static func untrack(_ path: String) throws -> UntrackReport {
        try untrack(path) { _ in }
    }

    /// - Parameter verify: gets the file that was opened, before anything is written to it.
    package static func untrack(
        _ path: String, verifying verify: (FileIdentity) throws -> Void
    ) throws -> UntrackReport {
        try explaining(path, "untrack") {
            let tracker = try Tracker(path: path)
            try tracker.verifyFile(verify)
            return try tracker.untrack()
        }
    }

    /// Compares the triggers with what they should be.
    ///
    /// - Complexity: O(columns of the schema); O(1) when the schema has not changed since the last
    ///   look.
    public func verifyCapture() throws -> [CaptureFinding] {
        try explaining("verify") { try ownTracker().verify() }
    }

    /// Makes the triggers what they should be after somebody changed the schema, and records what
    /// was written meanwhile as one transaction flagged `recovered`.
    ///
    /// - Parameter comparing: compares every table, also those whose triggers are right.
    /// - Complexity: O(rows) of the tables that are compared; writers wait meanwhile.
    @discardableResult
    public func repairCapture(comparing: Bool = false) throws -> RepairReport {
        let report = try explaining("repair") {
            try ownTracker().repairCapture(comparing: comparing)
        }
        try reloadEntities()
        return report
    }

    /// Takes over what another process did to the entities.
    public func reloadEntities() throws {
        try explaining("reload") { try live.withState { _, live in try live.catalog.reload() } }
    }

    /// Works beside the open connections: ``Tracker/init(path:)`` would read the file's header with
    /// a descriptor of its own, and closing that drops the locks of all connections of this process
    /// (https://www.sqlite.org/howtocorrupt.html, 2.2).
    private func ownTracker() throws -> Tracker {
        Tracker(try StoreConnection.openQueue(path, expecting: .file(file)))
    }

    /// Makes the replica at `path` another one: a new replica id and the next epoch. For a file
    /// that was copied or restored; tokens from before are `foreignHistory` from then on.
    ///
    /// No ``Store`` may have the file open meanwhile that is to be used afterwards: reopen it.
    static func renewReplica(_ connection: OpaquePointer, _ mark: FileMark) throws {
        try RawTransaction.write(connection) { try renew(connection, mark) }
    }

    private static func renew(_ connection: OpaquePointer, _ mark: FileMark) throws {
        let settings = try Settings(connection)
        guard try settings.value(.file) != .text(mark.text) else { return }
        try becomeNew(connection, settings)
        try settings.set(.file, .text(mark.text))
    }

    /// Gives the file a new replica id and the next epoch, in the transaction that the connection
    /// is in.
    @discardableResult
    package static func becomeNew(
        _ connection: OpaquePointer, _ settings: Settings
    ) throws -> ReplicaID {
        try rememberFormer(connection, settings)
        let replica = ReplicaID.random()
        try settings.set(.replica, .blob(replica.bytes))
        try settings.set(.epoch, .integer(try settings.integer(.epoch) + 1))
        // Nobody has a transaction of that name.
        try settings.set(.sent, .integer(0))
        return replica
    }

    /// What was written up to now is the work of the replica that the file was copied from: merging
    /// names the objects of both files alike.
    private static func rememberFormer(
        _ connection: OpaquePointer, _ settings: Settings
    ) throws {
        var writer = ByteWriter()
        if case .blob(let known) = try settings.value(.former) { writer.append(raw: known) }
        guard case .blob(let replica) = try settings.value(.replica) else { return }
        let newest = try Statement(connection, "SELECT max(seq) FROM syncd_log")
        writer.append(raw: replica)
        writer.append(signed: try newest.step() ? newest.integer(0) : 0)
        newest.reset()
        try settings.set(.former, .blob(writer.bytes))
    }

    package static func explaining<Result>(
        _ path: String, _ operation: String, _ body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch {
            throw StoreConnection.explain(error, path: path, operation: operation)
        }
    }
}

extension Store {
    /// Begins to record what a person chose: see ``track(_:entities:options:)``.
    public static func track(_ path: String, _ choice: CaptureChoice) throws -> TrackReport {
        try track(path, choice) { _ in }
    }

    /// - Parameter verify: gets the file that was opened, before anything is written to it, each
    ///   time that one is opened; what it throws ends the call.
    package static func track(
        _ path: String, _ choice: CaptureChoice, verifying verify: (FileIdentity) throws -> Void
    ) throws -> TrackReport {
        let options = try explaining(path, "track") {
            try choice.options(path, verifying: verify)
        }
        return try track(path, entities: choice.filter, options: options, verifying: verify)
    }

    /// Runs statements that change the schema and records the tables as they are afterwards, in one
    /// transaction: see ``Tracker/alter(_:)``.
    @discardableResult
    public static func alter(_ path: String, _ sql: String) throws -> [CaptureFinding] {
        try explaining(path, "alter") { try Tracker(path: path).alter(sql) }
    }

    /// What SQLite's own check finds wrong with a file; empty when it is sound.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`, `busy`.
    /// - Complexity: O(size of the file).
    public static func integrity(_ path: String) throws -> [String] {
        try explaining(path, "check") {
            let queue = try StoreConnection.openQueue(path, readOnly: true)
            defer { try? queue.close() }
            return try queue.read { database in
                try String.fetchAll(database, sql: "PRAGMA quick_check(20)").filter { $0 != "ok" }
            }
        }
    }
}
