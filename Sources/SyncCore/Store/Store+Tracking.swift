import GRDB
import SyncStorage
import SyncValues

extension Store {
    /// Begins to record a database: installs triggers, log and history tables.
    ///
    /// The user's tables are not altered. Tables that are recorded already stay as they are, so
    /// that the call can be repeated. Many tables at once are recorded in several transactions, so
    /// that writers need not wait long; a call that was killed is continued by the next one, or by
    /// a daemon, and until then the tables that are left are reported as new ones.
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
        try explaining("track", at: path) {
            let tracker = try Tracker(path: path)
            try tracker.verifyFile(verify)
            if let problem = HardLinks.problem(with: path) { throw problem }
            var report = try tracker.track(
                entities: entities, options: options,
                mending: { database, isRight in
                    try tracker.mendDropped(database, triggersAreRight: isRight) {
                        try claimFile($0)
                    }
                },
                alongside: { database in
                    guard let connection = database.sqliteConnection else { return }
                    try HistorySchema.create(connection)
                    try nameFile(database)
                })
            // What is left out now is taken with the first digest.
            try? tracker.takeFingerprints(within: fingerprintTime)
            for finding in try tracker.unreadableTables() {
                if case .unreadable(let reason) = finding.problem {
                    report.unreadable[finding.table] = reason
                }
            }
            return report
        }
    }

    /// Makes a database another store, without the history that it had: see
    /// ``Tracker/restart(entities:options:attaching:alongside:finishing:)``.
    /// - Throws: as that, and what opening throws.
    package static func restart<Result>(
        _ path: String, entities: [String], options: [String: CaptureOptions],
        attaching attachment: String, finishing: (Database) throws -> Result
    ) throws -> Result {
        let tracker = try Tracker(path: path)
        let result = try tracker.restart(
            entities: entities, options: options, attaching: attachment,
            alongside: { database in
                guard let connection = database.sqliteConnection else { return }
                try HistorySchema.create(connection)
                try nameFile(database)
            }, finishing: finishing)
        try? tracker.takeFingerprints(within: fingerprintTime)
        return result
    }

    /// How long tracking takes fingerprints: enough for some ten thousand rows. The rows of larger
    /// tables are compared only after a daemon, or a command that digests, has taken the rest.
    private static let fingerprintTime = Duration.milliseconds(500)

    /// Stores the mark of the file that the replica lives in, unless there is one.
    private static func nameFile(_ database: Database) throws {
        guard let connection = database.sqliteConnection else { return }
        let metadata = Metadata(connection)
        if case .null = try metadata.value(.file),
            let file = FileIdentity(openedBy: connection)
        {
            try metadata.set(.file, to: .text(file.mark))
            // A backup made before the first push must have this row.
            try metadata.set(.sent, to: .integer(0))
        }
    }

    /// The same for a store that was just repaired; one whose file was copied before becomes a
    /// replica of its own.
    private static func claimFile(_ database: Database) throws {
        try nameFile(database)
        guard let connection = database.sqliteConnection,
            let file = FileIdentity(openedBy: connection)
        else { return }
        try renew(connection, mark: file.mark)
    }

    /// Makes a store again of what is left of one whose tables another program dropped, in one
    /// transaction. Of a whole store only the triggers are put right.
    ///
    /// What cannot be made again is in the report's `losses`. When history is among it, earlier
    /// tokens are `foreignHistory`; a store that was synchronised becomes a separate store.
    ///
    /// - Parameter comparing: compares every table with what is remembered of it; without it that
    ///   is done when changes may be lost.
    /// - Throws: ``SyncError``: `notTracked` when nothing of a store is left; `cannotTrack` when
    ///   objects of other programs have names that are needed; `newerFormat`, `busy`, and what
    ///   opening throws.
    /// - Complexity: O(rows) of all tables; writers wait meanwhile.
    @discardableResult
    public static func mend(_ path: String, comparing: Bool = false) throws -> RepairReport {
        try mend(path, comparing: comparing, isResolved: false)
    }

    /// - Parameters:
    ///   - isResolved: as in ``open(_:isResolved:)``.
    ///   - isAttended: somebody reads the report. Otherwise the file remembers that it is a new
    ///     store (``RemadeStore``).
    /// - Throws: as ``mend(_:comparing:)``.
    @discardableResult
    package static func mend(
        _ path: String, comparing: Bool = false, isResolved: Bool, isAttended: Bool = true
    ) throws -> RepairReport {
        try explaining("mend", at: path) {
            let queue = try DatabaseOpener.open(
                path, expecting: isResolved ? .unlinked : .any)
            defer { try? queue.close() }
            let tracker = try Tracker(queue)
            return try tracker.mend(comparing: comparing, isAttended: isAttended) {
                try claimFile($0)
            }
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
    /// - Throws: as ``untrack(_:)``; what `verify` throws.
    package static func untrack(
        _ path: String, verifying verify: (FileIdentity) throws -> Void
    ) throws -> UntrackReport {
        try explaining("untrack", at: path) {
            let tracker = try Tracker(path: path)
            try tracker.verifyFile(verify)
            return try tracker.untrack()
        }
    }

    /// Compares the triggers with what they should be.
    ///
    /// - Throws: ``SyncError``: `notTracked`, `newerFormat`, `busy`, `corrupt`.
    /// - Complexity: O(columns of the schema); O(1) when the schema has not changed since the last
    ///   complete check.
    public func verifyCapture() throws -> [CaptureFinding] {
        try explaining("verify") { try ownTracker().verify() }
    }

    /// The recorded tables whose rows SQLite cannot read in this process, as where their key has a
    /// collation that an application defines.
    ///
    /// - Parameter thoroughly: false: as the last digest found them.
    /// - Throws: ``SyncError``: `busy`, `corrupt`.
    /// - Complexity: O(entities), of the last digest O(1).
    public func unreadableTables(thoroughly: Bool = true) throws -> [CaptureFinding] {
        try explaining("verify") {
            if !thoroughly, live.isResting { return [] }
            return try live.withState { connection, live in
                thoroughly
                    ? try live.catalog.unreadable(on: connection)
                    : live.unreadable.values.sorted { $0.table < $1.table }
            }
        }
    }

    /// Repairs the triggers after a change of the schema, and records the changes that were missed
    /// as one transaction flagged `recovered`.
    ///
    /// - Parameter comparing: compares every table, also those whose triggers are right.
    /// - Complexity: O(rows) of the tables that are compared; writers wait meanwhile.
    /// - Throws: ``SyncError``: `notTracked`, `newerFormat`, `busy`, `corrupt`, `storeDamaged`.
    @discardableResult
    public func repairCapture(comparing: Bool = false) throws -> RepairReport {
        try repairCapture(comparing: comparing, isWaiting: true)
    }

    /// - Parameter isWaiting: as in ``Tracker/repairCapture(comparing:isWaiting:)``.
    /// - Throws: as ``repairCapture(comparing:)``.
    package func repairCapture(
        comparing: Bool = false, isWaiting: Bool
    ) throws -> RepairReport {
        let report = try explaining("repair") {
            try ownTracker().repairCapture(comparing: comparing, isWaiting: isWaiting)
        }
        try reloadEntities()
        return report
    }

    /// Reads the entities again, after another process changed them.
    ///
    /// - Throws: ``SyncError``.
    public func reloadEntities() throws {
        try explaining("reload") { try live.withState { _, live in try live.catalog.reload() } }
    }

    /// Works beside the open connections: ``Tracker/init(path:)`` would read the file's header with
    /// a descriptor of its own, and closing that drops the locks of all connections of this process
    /// (https://www.sqlite.org/howtocorrupt.html, 2.2).
    private func ownTracker() throws -> Tracker {
        Tracker(try DatabaseOpener.open(path, expecting: .file(file)))
    }

    /// Makes the replica at `path` another one: a new replica id and the next epoch. For a file
    /// that was copied or restored; tokens from before are `foreignHistory` from then on.
    ///
    /// No ``Store`` may have the file open meanwhile that is to be used afterwards: reopen it.
    static func renewReplica(_ connection: OpaquePointer, mark: String) throws {
        try RawTransaction.write(on: connection) { try renew(connection, mark: mark) }
    }

    /// The same for a file whose log lacks what its readers were told; another process may have
    /// done it meanwhile.
    /// - Throws: `busy`, `readOnly`.
    static func renewReplica(
        _ connection: OpaquePointer, replacing identity: StoreIdentity,
        toldIn directory: String?
    ) throws {
        try RawTransaction.write(on: connection) {
            let metadata = Metadata(connection)
            guard try StoreIdentity(metadata) == identity,
                try NamedJournals.tellMore(than: connection, identity: identity, orIn: directory)
            else { return }
            try becomeNew(on: connection, metadata: metadata)
        }
    }

    private static func renew(_ connection: OpaquePointer, mark: String) throws {
        let metadata = Metadata(connection)
        guard try metadata.value(.file) != .text(mark) else { return }
        try becomeNew(on: connection, metadata: metadata)
        try metadata.set(.file, to: .text(mark))
    }

    /// Gives the file a new replica id and the next epoch, in the transaction that the connection
    /// is in.
    /// - Throws: the error of SQLite.
    @discardableResult
    package static func becomeNew(
        on connection: OpaquePointer, metadata: Metadata
    ) throws -> ReplicaID {
        try rememberFormer(on: connection, metadata: metadata)
        let replica = ReplicaID.random()
        try metadata.set(.replica, to: .blob(replica.bytes))
        try metadata.set(.epoch, to: .integer(try metadata.integer(.epoch) + 1))
        // No other replica has a transaction of the new replica.
        try metadata.set(.sent, to: .integer(0))
        return replica
    }

    /// The transactions up to now belong to the replica that the file was copied from: merging
    /// gives the objects of both files the same identity.
    private static func rememberFormer(
        on connection: OpaquePointer, metadata: Metadata
    ) throws {
        var writer = ByteWriter()
        if case .blob(let known) = try metadata.value(.former) { writer.append(raw: known) }
        guard case .blob(let replica) = try metadata.value(.replica) else { return }
        writer.append(raw: replica)
        writer.append(signed: try LogTable.newest(on: connection))
        try metadata.set(.former, to: .blob(writer.bytes))
    }
}

extension Store {
    /// Begins to record the chosen tables: see ``track(_:entities:options:)``.
    /// - Throws: as ``track(_:entities:options:)``.
    public static func track(_ path: String, choosing choice: CaptureChoice) throws -> TrackReport {
        try track(path, choosing: choice) { _ in }
    }

    /// - Parameter verify: gets the file that was opened, before anything is written to it, each
    ///   time that one is opened; what it throws ends the call.
    /// - Throws: as ``track(_:entities:options:)``.
    package static func track(
        _ path: String, choosing choice: CaptureChoice,
        verifying verify: (FileIdentity) throws -> Void
    ) throws -> TrackReport {
        let options = try explaining("track", at: path) {
            try choice.options(path, verifying: verify)
        }
        return try track(path, entities: choice.filter, options: options, verifying: verify)
    }

    /// Runs statements that change the schema and records the tables as they are afterwards, in one
    /// transaction: see ``Tracker/alter(_:verifying:)``.
    /// - Throws: as ``Tracker/alter(_:verifying:)``, and what opening throws.
    @discardableResult
    public static func alter(_ path: String, running sql: String) throws -> [CaptureFinding] {
        try alter(path, running: sql) { _ in }
    }

    /// The same, where `verify` may refuse what the statements lead to: then nothing has changed.
    /// - Throws: as ``Tracker/alter(_:verifying:)``, and what opening throws.
    package static func alter(
        _ path: String, running sql: String, verifying verify: (Database) throws -> Void
    ) throws -> [CaptureFinding] {
        try explaining("alter", at: path) {
            let (tracker, findings) = try trackerToAlter(path)
            return findings + (try tracker.alter(sql, verifying: verify))
        }
    }

    /// Changes the schema as `body` does, and records the tables as they are afterwards, in one
    /// transaction: see ``Tracker/alter(running:making:)``.
    /// - Throws: as ``Tracker/alter(running:making:)``, and what opening throws.
    package static func alter<Result>(
        _ path: String, running renames: [String] = [], making body: (Database) throws -> Result
    ) throws -> Result {
        try explaining("alter", at: path) {
            try trackerToAlter(path).0.alter(running: renames, making: body)
        }
    }

    /// Makes triggers right that are out of date, and digests: every row has the fingerprint of
    /// what it is then. One written lately would be told again where the statements rebuild its
    /// table. What keeps the digest from it, as a writer, leaves that to chance, and stops nothing.
    ///
    /// - Returns: with what had to be made right.
    private static func trackerToAlter(_ path: String) throws -> (Tracker, [CaptureFinding]) {
        let tracker = try Tracker(path: path)
        let findings = try tracker.repairPresent()
        if let store = try? open(path) {
            while (try? store.digest(isRepeated: true)) ?? false {}
            try? store.close()
        }
        return (tracker, findings)
    }

    /// The error of an object of another program under a name that syncd needs: it stops each
    /// exchange; nil where there is none.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`, `busy`.
    package static func nameClash(_ path: String) throws -> SyncError? {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                try StoreObjects(database).clashes(database).first.map(StoreObjects.clash)
            }
        }
    }

    /// The triggers that other programs have created on tables of the store, with the table of
    /// each: a tool may create one on every table.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`, `busy`.
    public static func foreignTriggers(
        _ path: String
    ) throws -> [(name: String, table: String)] {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                try Row.fetchAll(
                    database,
                    sql: """
                        SELECT name, tbl_name FROM main.sqlite_schema
                        WHERE type = 'trigger' AND tbl_name LIKE 'syncd\\_%' ESCAPE '\\'
                          AND name <> 'syncd_txn_mark' ORDER BY name
                        """
                ).map { ($0["name"], $0["tbl_name"]) }
            }
        }
    }

    /// What SQLite's own check finds wrong with a file; empty when it is sound.
    ///
    /// What the quick check names is looked at with the whole one: SQLite 3.40 takes the columns of
    /// a `WITHOUT ROWID` table in another order than its key's for NULL in the quick one alone.
    ///
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `corrupt`, `notAllowed`, `busy`.
    /// - Complexity: O(size of the file).
    public static func integrity(_ path: String) throws -> [String] {
        try explaining("check", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { database in
                func problems(_ check: String) throws -> [String] {
                    try String.fetchAll(database, sql: "PRAGMA \(check)(20)").filter { $0 != "ok" }
                }
                return try problems("quick_check").isEmpty ? [] : problems("integrity_check")
            }
        }
    }
}
