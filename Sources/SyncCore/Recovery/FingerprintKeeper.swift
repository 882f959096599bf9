import SyncStorage
import SyncValues

/// Keeps the fingerprints of all objects up to date, behind the digest.
///
/// Invariants:
/// - `syncd_meta.fingerprinted` is the seq up to which the changes of history are in the
///   fingerprints; it never passes `digested`.
/// - A lineage is complete once every row that was there got a fingerprint. It is read in pages,
///   each within the write transaction that stores it; what is committed meanwhile lies after
///   `fingerprinted`, and is gone through afterwards.
/// - Nothing is written while the schema differs from that of the last complete check of the
///   triggers: a change of a row may have been missed, and its fingerprint must stay to compare
///   with.
///
/// - A table whose rows SQLite cannot read in this process, as where its key has a collation that
///   an application defines, has no fingerprints; the others do not wait for it.
///
/// Writers are held up for the length of a slice, about 2 ms.
final class FingerprintKeeper {
    private static let sliceRowsMax = 500

    private let connection: OpaquePointer
    private let catalog: EntityCatalog
    private let metadata: Metadata
    private let table: FingerprintTable
    private let schemaVersion: Statement
    private let changes: Statement
    private var rows: [Int64: EntityRows] = [:]
    /// By lineage, the tables whose rows cannot be read in this process.
    private(set) var unreadable: [Int64: CaptureFinding] = [:]
    private var schema: Int64?
    private var filling: (entity: TrackedEntity, position: EntityRows.Position)?

    /// - Returns: nil for a store that keeps no fingerprints.
    init?(_ connection: OpaquePointer, catalog: EntityCatalog, metadata: Metadata) throws {
        guard try FingerprintTable.exists(connection) else { return nil }
        self.connection = connection
        self.catalog = catalog
        self.metadata = metadata
        table = try FingerprintTable(connection)
        schemaVersion = try Statement("PRAGMA schema_version", on: connection)
        changes = try Statement(ChangeTable.objectsSQL, on: connection)
    }

    /// Whether a keeper would find something to do; cheaper than to make one.
    ///
    /// - Parameter unreadable: the tables that the last one found unreadable, in this schema.
    static func hasWork(
        _ connection: OpaquePointer, catalog: EntityCatalog, metadata: Metadata,
        leaving unreadable: [Int64: CaptureFinding] = [:]
    ) throws -> Bool {
        guard try FingerprintTable.exists(connection) else { return false }
        if try metadata.position(.fingerprinted) < metadata.position(.digested) { return true }
        let complete = try FingerprintTable.complete(connection)
        return catalog.present.contains {
            !complete.contains($0.lineage) && unreadable[$0.lineage] == nil
        }
    }

    /// Goes on until everything is done or `isDue` says no.
    ///
    /// - Returns: whether something is left.
    /// - Throws: `busy` when a writer holds the lock.
    func work(while isDue: () -> Bool, didCommit: () -> Void) throws -> Bool {
        // What could not be read in another schema may be readable in this one.
        if try !unreadable.isEmpty && version() != schema { unreadable = [:] }
        while try hasWork() {
            guard isDue() else { return true }
            guard try RawTransaction.write(on: connection, didCommit: didCommit, slice) else {
                return false
            }
        }
        return false
    }

    private func hasWork() throws -> Bool {
        if try metadata.position(.fingerprinted) < metadata.position(.digested) { return true }
        return try nextToFill() != nil
    }

    /// - Returns: false when the triggers have to be checked first.
    private func slice() throws -> Bool {
        guard try noticeSchema() else { return false }
        if let entity = try filling?.entity ?? nextToFill() {
            try fill(entity)
        } else {
            try goThroughChanges()
        }
        return true
    }

    private func version() throws -> Int64 {
        defer { schemaVersion.reset() }
        return try schemaVersion.step() ? schemaVersion.integer(0) : 0
    }

    private func noticeSchema() throws -> Bool {
        let version = try version()
        guard version == (try metadata.integer(.schema)) else { return false }
        if version != schema {
            schema = version
            rows = [:]
            unreadable = [:]
            filling = nil
            try catalog.reload()
        }
        return true
    }

    /// - Returns: nil for a table whose rows cannot be read: it has no fingerprints from now on.
    private func rows(of entity: TrackedEntity) throws -> EntityRows? {
        if unreadable[entity.lineage] != nil { return nil }
        if let known = rows[entity.id] { return known }
        if let reason = try EntityRows.obstacle(to: entity, on: connection) {
            unreadable[entity.lineage] = CaptureFinding(
                entity: entity.id, table: entity.name, problem: .unreadable(reason))
            try table.forget(entity.lineage)
            return nil
        }
        let made = try EntityRows(
            connection, of: entity, rowID: TableSchema.rowIDName(of: entity.name, on: connection))
        rows[entity.id] = made
        return made
    }

    private func nextToFill() throws -> TrackedEntity? {
        try catalog.present.first {
            try unreadable[$0.lineage] == nil && !table.isComplete($0.lineage)
        }
    }

    private func fill(_ entity: TrackedEntity) throws {
        guard let rows = try rows(of: entity) else {
            filling = nil
            return
        }
        let next = try rows.forEach(
            after: filling?.position ?? .start, count: Self.sliceRowsMax
        ) { key, row in
            try table.putIfUnknown(lineage: entity.lineage, key: key, known: rows.known(row))
        }
        filling = next.map { (entity, $0) }
        if next == nil { try table.setComplete(entity.lineage) }
    }

    private func goThroughChanges() throws {
        let digested = try metadata.position(.digested)
        changes.bind(try metadata.position(.fingerprinted), at: 1)
        changes.bind(digested, at: 2)
        changes.bind(Int64(Self.sliceRowsMax), at: 3)
        defer { changes.reset() }
        var touched: [Touched: TrackedEntity] = [:]
        var last: Int64?
        while try changes.step() {
            last = changes.integer(0)
            guard let changed = try catalog.entity(changes.integer(1) >> 3),
                let entity = catalog.present(of: changed.lineage)
            else { continue }
            touched[Touched(lineage: entity.lineage, key: changes.value(2))] = entity
        }
        for (object, entity) in touched {
            let key = try NetChange.key(stored: object.key, entity)
            if key.values.contains(.null) { continue }
            guard let rows = try rows(of: entity) else { continue }
            if let known = try rows.state(of: key) {
                try table.put(lineage: entity.lineage, key: object.key, known: known)
            } else {
                try table.remove(lineage: entity.lineage, key: object.key)
            }
        }
        try metadata.set(.fingerprinted, to: .integer(last ?? digested))
    }

    private struct Touched: Hashable {
        let lineage: Int64
        let key: Value
    }
}

extension Tracker {
    /// Takes the fingerprints of rows that have none, in short write transactions: what is written
    /// while triggers are missing can be found from then on, also where no daemon ever runs.
    ///
    /// - Throws: `busy` when a writer holds the lock, which is not waited for; what was taken until
    ///   then stays.
    func takeFingerprints(within limit: Duration) throws {
        try queue.writeWithoutTransaction { database in
            let connection = try database.openConnection
            let catalog = try EntityCatalog(connection)
            let keeper = try FingerprintKeeper(
                connection, catalog: catalog, metadata: Metadata(connection))
            let end = ContinuousClock.now + limit
            try DatabaseOpener.withoutWaiting(on: connection) {
                _ = try keeper?.work(while: { .now < end }, didCommit: {})
            }
        }
    }
}
