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
/// - Nothing is written while the schema is another than at the last look at the triggers: a row
///   may have been changed unseen then, and what is known of it must stay to compare with.
///
/// Writers are held up for the length of a slice, about 2 ms.
final class FingerprintKeeper {
    private static let sliceRowsMax = 500

    private let connection: OpaquePointer
    private let catalog: EntityCatalog
    private let settings: Settings
    private let table: FingerprintTable
    private let schemaVersion: Statement
    private let changes: Statement
    private var rows: [Int64: EntityRows] = [:]
    private var schema: Int64?
    private var filling: (entity: TrackedEntity, position: EntityRows.Position)?

    /// - Returns: nil for a store that keeps no fingerprints.
    init?(_ connection: OpaquePointer, catalog: EntityCatalog, settings: Settings) throws {
        guard try FingerprintTable.exists(connection) else { return nil }
        self.connection = connection
        self.catalog = catalog
        self.settings = settings
        table = try FingerprintTable(connection)
        schemaVersion = try Statement(connection, "PRAGMA schema_version")
        changes = try Statement(
            connection,
            """
            SELECT seq, op, key FROM syncd_change
            WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3
            """
        )
    }

    /// Whether a keeper would find something to do; cheaper than to make one.
    static func hasWork(
        _ connection: OpaquePointer, catalog: EntityCatalog, settings: Settings
    ) throws -> Bool {
        guard try FingerprintTable.exists(connection) else { return false }
        if try settings.position(.fingerprinted) < settings.position(.digested) { return true }
        let complete = try FingerprintTable.complete(connection)
        return catalog.present.contains { !complete.contains($0.lineage) }
    }

    /// Goes on until everything is done or `isDue` says no.
    ///
    /// - Returns: whether something is left.
    /// - Throws: `busy` when a writer holds the lock.
    func work(while isDue: () -> Bool, didCommit: () -> Void) throws -> Bool {
        while try hasWork() {
            guard isDue() else { return true }
            guard try RawTransaction.write(connection, didCommit: didCommit, slice) else {
                return false
            }
        }
        return false
    }

    private func hasWork() throws -> Bool {
        if try settings.position(.fingerprinted) < settings.position(.digested) { return true }
        return try catalog.present.contains { try !table.isComplete($0.lineage) }
    }

    /// - Returns: false when the triggers have to be looked at first.
    private func slice() throws -> Bool {
        guard try noticeSchema() else { return false }
        if let entity = try filling?.entity ?? nextToFill() {
            try fill(entity)
        } else {
            try goThroughChanges()
        }
        return true
    }

    private func noticeSchema() throws -> Bool {
        defer { schemaVersion.reset() }
        let version = try schemaVersion.step() ? schemaVersion.integer(0) : 0
        guard version == (try settings.integer(.schema)) else { return false }
        if version != schema {
            schema = version
            rows = [:]
            filling = nil
            try catalog.reload()
        }
        return true
    }

    private func rows(of entity: TrackedEntity) throws -> EntityRows {
        if let known = rows[entity.id] { return known }
        let made = try EntityRows(
            connection, entity, rowID: EntityRows.rowIDName(connection, entity.name))
        rows[entity.id] = made
        return made
    }

    private func nextToFill() throws -> TrackedEntity? {
        try catalog.present.first { try !table.isComplete($0.lineage) }
    }

    private func fill(_ entity: TrackedEntity) throws {
        let rows = try rows(of: entity)
        let next = try rows.forEach(
            after: filling?.position ?? .start, count: Self.sliceRowsMax
        ) { key, row in
            try table.putIfUnknown(entity.lineage, key, rows.known(row))
        }
        filling = next.map { (entity, $0) }
        if next == nil { try table.setComplete(entity.lineage) }
    }

    private func goThroughChanges() throws {
        let digested = try settings.position(.digested)
        changes.bind(1, try settings.position(.fingerprinted))
        changes.bind(2, digested)
        changes.bind(3, Int64(Self.sliceRowsMax))
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
            if let known = try rows(of: entity).state(of: key) {
                try table.put(entity.lineage, object.key, known)
            } else {
                try table.remove(entity.lineage, object.key)
            }
        }
        try settings.set(.fingerprinted, .integer(last ?? digested))
    }

    private struct Touched: Hashable {
        let lineage: Int64
        let key: Value
    }
}

extension EntityRows {
    /// A name by which SQL reaches the rowid of a table; nil for WITHOUT ROWID, and where the
    /// table's own columns have taken all three names.
    static func rowIDName(_ connection: OpaquePointer, _ table: String) throws -> String? {
        let kind = try Statement(
            connection, "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'")
        kind.bind(1, table)
        guard try kind.step(), kind.integer(0) == 0 else { return nil }
        kind.reset()
        let columns = try Statement(connection, "SELECT lower(name) FROM pragma_table_xinfo(?1)")
        columns.bind(1, table)
        var names: Set<String> = []
        while try columns.step() { names.insert(columns.text(0) ?? "") }
        return TableSchema.rowIDNames.first { !names.contains($0) }
    }
}
