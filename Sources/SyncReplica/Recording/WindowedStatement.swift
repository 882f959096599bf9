import SyncMerge
import SyncValues

/// The first statement of a store whose log is long (``FirstStatement``): its rows are stated as if
/// they were all older than history, but for those that were inserted since; then the log is read
/// window by window (``LoggedWrites``), and says what was inserted and what was written when.
///
/// Invariants
/// - What it stores is what ``FirstStatement`` stores, but for the ids of `syncd_object`.
/// - All is stated by it, or nothing: then the changes of the log have to be in memory.
///
/// Memory: five bytes for each insert of the log, a window, and the headers of the transactions.
final class WindowedStatement {
    private let recording: LocalRecording
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    private let inserted: InsertedKeys
    /// What earlier windows have stored.
    private let targets: StoredTargets
    /// The present window; nil: the older rows are being stated.
    private var writes: LoggedWrites?
    private var changes: ChangeLists

    /// - Returns: false where the changes of the log are few, or have to be in memory; nothing is
    ///   written then.
    /// - Throws: SQLite errors; `corrupt`, `badData` for changes that cannot be read.
    /// - Complexity: O(rows of the store + changes of the log · windows)
    static func state(
        _ recording: LocalRecording, in transaction: MergeTransaction
    ) throws -> Bool {
        let storage = transaction.storage
        guard
            recording.entries.reduce(0, { $0 + $1.changesMax }) > transaction.environment.windowMax,
            recording.joined == nil, try storage.objects.isEmpty(),
            StatementObstacle(in: storage.schema.merge) == nil
        else { return false }
        // Rolled back with the transaction alone.
        _ = try storage.replicas.number(of: recording.last.dot.replica)
        let head = storage.history.head
        do {
            try WindowedStatement(recording, in: transaction).storeAll()
            return true
        } catch let reason as LocalLaneReason {
            transaction.environment.tally.count(unstated: reason.rawValue)
        } catch let obstacle as StatementObstacle {
            transaction.environment.tally.count(unstated: obstacle.rawValue)
        }
        try storage.objects.removeAll()
        storage.history.release(after: head)
        return false
    }

    private init(_ recording: LocalRecording, in transaction: MergeTransaction) throws {
        self.recording = recording
        self.transaction = transaction
        storage = transaction.storage
        targets = StoredTargets(storage)
        changes = ChangeLists(storage.shapes)
        inserted = try Self.inserted(by: recording, from: storage)
    }

    private static func inserted(
        by recording: LocalRecording, from storage: ReplicaStorage
    ) throws -> InsertedKeys {
        func forEachInsert(_ body: (NetChange, LoggedTables.Place) throws -> Void) throws {
            for entry in recording.entries {
                try storage.unrecorded.forEachChange(of: entry) { change in
                    guard change.kind == .insert,
                        let logged = try recording.tables.find(change.entity)
                    else { return }
                    try body(change, logged)
                }
            }
        }
        var count = 0
        try forEachInsert { _, _ in count += 1 }
        var keys = InsertedKeys(insertsMax: count)
        try forEachInsert { change, logged in
            keys.insert(storage.schema.merge.key(logged.position, change.key.values))
        }
        return keys
    }

    private func storeAll() throws {
        storage.totals.begin()
        let identities = RowIdentities(storage) { [unowned self] in try numbered($0) }
        let older = OlderTransactions(
            recording.last, at: transaction.nextPosition + Int64(recording.entries.count),
            in: transaction)
        let rows = try RowStating(
            recording, identities: identities, storage: storage,
            firstPosition: transaction.nextPosition, older: older)
        let leftOut = try rows.state(datedBy: nil, besides: inserted)
        // Else the log lacks a row that was left out because of it.
        guard try storeWindows(rows, identities) == leftOut else {
            throw LocalLaneReason.incomplete
        }
        rows.end()
        try changes.store(recording.headers.dropLast(), in: transaction)
        try older.store()
        transaction.environment.tally.count(windowed: rows.count)
    }

    /// The identity of a row with a number.
    /// - Throws: ``LocalLaneReason/reference`` for a row that was inserted in a later window.
    private func numbered(_ key: RowKey) throws -> ObjectUID {
        if let writes, let row = writes.row(at: key) {
            return recording.uid(of: key, birth: writes.birth(of: row))
        }
        guard inserted.contains(key) else { return recording.uid(of: key, birth: nil) }
        guard let uid = try targets.uid(of: key) else { throw LocalLaneReason.reference }
        return uid
    }

    // MARK: The log

    /// - Returns: how many objects were stored.
    private func storeWindows(_ rows: RowStating, _ identities: RowIdentities) throws -> Int {
        let entities = try storage.stated().entities
        var count = 0
        var start = LoggedWrites.Cursor()
        while true {
            let window = try LoggedWrites(
                recording, from: storage.unrecorded, entities: entities, start: start,
                changesMax: transaction.environment.windowMax)
            writes = window
            for row in 0..<window.count where !window.isEarlier(row) {
                count += try store(row, of: window, rows) ? 1 : 0
            }
            // What follows finds the objects of this window.
            try rows.store()
            for place in window.places { try describe(place, of: window, identities) }
            if window.isLast { return count }
            start = window.end
            // One window at a time.
            writes = nil
        }
    }

    private func store(
        _ row: Int, of window: LoggedWrites, _ rows: RowStating
    ) throws -> Bool {
        // The list of changes names the row that was deleted, too.
        guard !window.isRecreated(row) else { throw LocalLaneReason.delete }
        if window.deleter(of: row) != nil { return false }
        let inserter = window.inserter(of: row)
        return try rows.state(window.key(of: row), isNew: inserter != nil) { cell in
            let writer = cell.map { window.writer(of: $0, row: row) } ?? inserter
            return writer.map { recording.headers[$0].dot.number }
        }
    }

    /// Notes the changes of a transaction that are in the window.
    private func describe(
        _ place: Int, of window: LoggedWrites, _ identities: RowIdentities
    ) throws {
        for change in window.changes(of: place) {
            guard let uid = try identity(of: change.row, in: window, identities) else { continue }
            changes.append(change, of: uid, entity: window.entity(of: change.row))
        }
        // The next window has the others.
        if place == window.end.place { return }
        try changes.end(recording.transaction(at: place), at: place)
    }

    /// The identity of a row for the list of changes; nil: no fact names it.
    private func identity(
        of row: Int, in window: LoggedWrites, _ identities: RowIdentities
    ) throws -> ObjectUID? {
        let (key, birth) = (window.key(of: row), window.birth(of: row))
        if storage.schema.merge.entities[key.entity].isPrivate {
            return recording.uid(of: key, birth: birth)
        }
        if birth == nil || window.isVanished(row) { return nil }
        return try identities.uid(ofRowAt: key)
    }
}
