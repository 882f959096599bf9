import GRDB
import SyncStorage
import SyncValues

/// Compares all rows of a store with their fingerprints, slice by slice: a program that switched
/// triggers off leaves no other trace.
///
/// A slice is read without the write lock. Only when it finds a difference, it is compared again in
/// a write transaction, which records it as one transaction flagged `recovered`. Tables whose
/// fingerprints are not complete are left out; rows that the log says were changed since their
/// fingerprint was taken are not compared. A store that merges compares its rows with what it has
/// stated: the next merge does it.
///
/// Invariants:
/// - Nothing is compared after a change of the schema: the triggers are checked first, which
///   compares what has to be (``Tracker/repairCapture(comparing:)``).
/// - `syncd_meta.compared` is written when the last slice is done, and then only.
///
/// Not thread-safe: one caller at a time.
package final class FullComparison {
    private static let sliceRowsMax = 500

    /// How a slice ended.
    package enum Progress {
        case goesOn
        case finished
        /// The schema has changed: all is to be begun again, later.
        case outdated
    }

    private enum Step {
        case rows(EntityRows.Position)
        case keys(after: Value?)
    }

    private let queue: DatabaseQueue
    private var sideFiles: SideFilesGuard
    private var waiting: [TrackedEntity] = []
    private var step = Step.rows(.start)
    private var schema: Int64?
    /// How many changes were recorded.
    package private(set) var recoveredCount = 0

    /// - Throws: what opening throws; `storeReplaced` when another file is at the path.
    package init(_ path: String, file: FileIdentity) throws {
        sideFiles = SideFilesGuard(beforeOpening: path)
        queue = try DatabaseOpener.open(path, for: .following, expecting: .file(file))
    }

    /// One that only looks: ``look()``.
    /// - Throws: what opening throws.
    init(looking path: String) throws {
        sideFiles = SideFilesGuard(beforeOpening: path)
        queue = try DatabaseOpener.open(path, for: .reading)
    }

    deinit {
        queue.writeWithoutTransaction { database in
            if let connection = database.sqliteConnection { sideFiles.release(connection) }
        }
        try? queue.close()
    }

    /// When the last complete comparison of a store ended; nil: there was none.
    /// - Throws: the error of SQLite.
    package static func last(in metadata: Metadata) throws -> Timestamp? {
        try metadata.integerIfPresent(.compared).map(Timestamp.init(milliseconds:))
    }

    /// Notes that all rows were compared, within the transaction that the connection is in.
    static func setFinished(at time: Timestamp, in metadata: Metadata) throws {
        try metadata.set(.compared, to: .integer(time.milliseconds))
    }

    /// Compares the next slice: a millisecond or two.
    ///
    /// - Throws: `busy` when a writer has the lock that is needed: call again later;
    ///   `storeReplaced` when the -wal and -shm were taken away: open the store again.
    package func next(at time: Timestamp = .now()) throws -> Progress {
        try queue.writeWithoutTransaction { database in
            let connection = try database.openConnection
            try sideFiles.require(at: queue.path)
            defer { sideFiles.noteUse(of: connection) }
            return try DatabaseOpener.withoutWaiting(on: connection) {
                try next(database, connection, at: time)
            }
        }
    }

    /// Compares all rows, slice by slice, and writes nothing.
    ///
    /// - Returns: nil when the rows cannot be compared with fingerprints: the store merges, or its
    ///   schema has just changed.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(rows), about a microsecond each.
    func look() throws -> MissedChanges? {
        var found = MissedChanges(count: 0, recentCount: 0)
        repeat {
            let canCompare = try queue.read { database in
                guard try begin(database) == false else { return false }
                guard let entity = waiting.first else { return true }
                let result = try compare(entity, in: database, isCounting: true)
                found.count += result.count
                found.partlyComparedCount += result.partlyComparedCount
                if let next = result.next {
                    step = next
                } else {
                    found.recentCount +=
                        try Recovery(database, isCounting: true)?.recentCount(of: entity) ?? 0
                    finishEntity()
                }
                return true
            }
            if !canCompare { return nil }
        } while !waiting.isEmpty
        return found
    }

    private func next(
        _ database: Database, _ connection: OpaquePointer, at time: Timestamp
    ) throws -> Progress {
        let isMerged = try RawTransaction.read(on: connection) { try begin(database) }
        guard let isMerged else { return .outdated }
        guard let entity = waiting.first, !isMerged else {
            try RawTransaction.write(on: connection) {
                let metadata = Metadata(connection)
                if isMerged { try metadata.set(.unseen, to: .integer(1)) }
                try Self.setFinished(at: time, in: metadata)
            }
            return .finished
        }
        var result = try RawTransaction.read(on: connection) {
            try compare(entity, in: database, isCounting: true)
        }
        if result.count > 0 || result.partlyComparedCount > 0 {
            result = try RawTransaction.write(on: connection) {
                guard try isCurrent(database) else { return Slice(next: self.step) }
                return try compare(entity, in: database, isCounting: false)
            }
            recoveredCount += result.count
        }
        if let step = result.next { self.step = step } else { finishEntity() }
        return .goesOn
    }

    /// - Returns: whether the store merges; nil when the schema is another than at the last check
    ///   of the triggers.
    private func begin(_ database: Database) throws -> Bool? {
        guard try isCurrent(database) else { return nil }
        let connection = try database.openConnection
        if schema == nil {
            schema = try version(database)
            let complete = try FingerprintTable.complete(connection)
            waiting = try EntityCatalog(connection).present.filter {
                try complete.contains($0.lineage)
                    && EntityRows.obstacle(to: $0, on: connection) == nil
            }
        }
        return try Metadata(database).isStated()
    }

    private func isCurrent(_ database: Database) throws -> Bool {
        let version = try version(database)
        guard try version == Metadata(database).integer(.schema) else { return false }
        return schema == nil || schema == version
    }

    private func version(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "PRAGMA schema_version") ?? 0
    }

    /// What a slice found.
    private struct Slice {
        var count = 0
        var partlyComparedCount = 0
        /// The next step for this entity; nil: it is done.
        var next: Step?
    }

    private func compare(
        _ entity: TrackedEntity, in database: Database, isCounting: Bool
    ) throws -> Slice {
        guard let recovery = try Recovery(database, isCounting: isCounting) else { return Slice() }
        let next: Step?
        switch step {
        case .rows(let position):
            let end = try recovery.compareRows(
                of: entity, after: position, count: Self.sliceRowsMax)
            next = end.map(Step.rows) ?? .keys(after: nil)
        case .keys(let key):
            let end = try recovery.compareKeys(of: entity, after: key, count: Self.sliceRowsMax)
            next = end.map { .keys(after: $0) }
        }
        try recovery.finish()
        return Slice(
            count: recovery.count, partlyComparedCount: recovery.partlyComparedCount, next: next)
    }

    private func finishEntity() {
        waiting.removeFirst()
        step = .rows(.start)
    }
}
