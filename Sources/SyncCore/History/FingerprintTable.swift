import SyncStorage
import SyncValues

/// `syncd_fingerprint` and `syncd_lineage`: docs/store-format.md §3.
///
/// A *lineage* is a table through all its schema changes, named by the number of its first entity.
/// Within the transaction that the connection is in; confined to the connection.
final class FingerprintTable {
    static let name = "syncd_fingerprint"
    static let lineages = "syncd_lineage"

    static let creation = [
        """
        CREATE TABLE IF NOT EXISTS syncd_fingerprint(
          lineage INTEGER, key, entity INTEGER, print INTEGER,
          PRIMARY KEY(lineage, key)) WITHOUT ROWID
        """,
        "CREATE TABLE IF NOT EXISTS syncd_lineage(lineage INTEGER PRIMARY KEY)",
    ]

    /// A row's last known state.
    struct Known: Hashable {
        /// The entity whose layout the print was taken with.
        let entity: Int64
        let print: Int64
    }

    private let connection: OpaquePointer
    private let select: Statement
    private let upsert: Statement
    private let insert: Statement
    private let remove: Statement
    private let selectComplete: Statement
    private let insertComplete: Statement
    private let count: Statement

    /// - Throws: when the tables are not there.
    init(_ connection: OpaquePointer) throws {
        self.connection = connection
        select = try Statement(
            "SELECT entity, print FROM syncd_fingerprint WHERE lineage = ?1 AND key = ?2",
            on: connection)
        upsert = try Statement(
            """
            INSERT INTO syncd_fingerprint(lineage, key, entity, print) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET entity = ?3, print = ?4
            WHERE print <> ?4 OR entity <> ?3
            """, on: connection)
        insert = try Statement(
            """
            INSERT OR IGNORE INTO syncd_fingerprint(lineage, key, entity, print)
            VALUES (?1, ?2, ?3, ?4)
            """, on: connection)
        remove = try Statement(
            "DELETE FROM syncd_fingerprint WHERE lineage = ?1 AND key = ?2", on: connection)
        selectComplete = try Statement(
            "SELECT 1 FROM syncd_lineage WHERE lineage = ?1", on: connection)
        insertComplete = try Statement(
            "INSERT OR IGNORE INTO syncd_lineage(lineage) VALUES (?1)", on: connection)
        count = try Statement(
            "SELECT count(*) FROM syncd_fingerprint WHERE lineage = ?1", on: connection)
    }

    func known(lineage: Int64, key: Value) throws -> Known? {
        select.bind(lineage, at: 1)
        select.bind(key, at: 2)
        defer { select.reset() }
        return try select.step()
            ? Known(entity: select.integer(0), print: select.integer(1)) : nil
    }

    func put(lineage: Int64, key: Value, known: Known) throws {
        try upsert.run(.integer(lineage), key, .integer(known.entity), .integer(known.print))
    }

    func putIfUnknown(lineage: Int64, key: Value, known: Known) throws {
        try insert.run(.integer(lineage), key, .integer(known.entity), .integer(known.print))
    }

    func remove(lineage: Int64, key: Value) throws {
        try remove.run(.integer(lineage), key)
    }

    /// The keys of a lineage's rows that have a print.
    static func keys(of lineage: Int64, on connection: OpaquePointer) throws -> [Value] {
        let select = try Statement(
            "SELECT key FROM syncd_fingerprint WHERE lineage = ?1", on: connection)
        select.bind(lineage, at: 1)
        var keys: [Value] = []
        while try select.step() { keys.append(select.value(0)) }
        return keys
    }

    /// The same, a page in the order of the keys: at most `count` after `key`; nil: the first ones.
    static func keys(
        of lineage: Int64, after key: Value?, count: Int, on connection: OpaquePointer
    ) throws -> [Value] {
        let page = try Statement(
            """
            SELECT key FROM syncd_fingerprint WHERE lineage = ?1 \(key == nil ? "" : "AND key > ?3")
            ORDER BY key LIMIT ?2
            """, on: connection)
        page.bind(lineage, at: 1)
        page.bind(Int64(count), at: 2)
        if let key { page.bind(key, at: 3) }
        var keys: [Value] = []
        while try page.step() { keys.append(page.value(0)) }
        return keys
    }

    /// Deletes every print, and what says that a lineage is complete.
    static func deleteAll(on connection: OpaquePointer) throws {
        try Statement("DELETE FROM syncd_fingerprint", on: connection).run()
        try Statement("DELETE FROM syncd_lineage", on: connection).run()
    }

    func count(_ lineage: Int64) throws -> Int64 {
        count.bind(lineage, at: 1)
        defer { count.reset() }
        return try count.step() ? count.integer(0) : 0
    }

    /// Every row of the lineage that was there at some moment has, or had, its print: one without
    /// it is new.
    func isComplete(_ lineage: Int64) throws -> Bool {
        selectComplete.bind(lineage, at: 1)
        defer { selectComplete.reset() }
        return try selectComplete.step()
    }

    func setComplete(_ lineage: Int64) throws { try insertComplete.run(.integer(lineage)) }

    /// Deletes the prints of a lineage: it is not complete any more.
    func forget(_ lineage: Int64) throws {
        guard try isComplete(lineage) || count(lineage) > 0 else { return }
        for name in [Self.name, Self.lineages] {
            try Statement("DELETE FROM \(name) WHERE lineage = ?1", on: connection)
                .run(.integer(lineage))
        }
    }

    /// All complete lineages.
    static func complete(_ connection: OpaquePointer) throws -> Set<Int64> {
        let rows = try Statement("SELECT lineage FROM syncd_lineage", on: connection)
        var lineages: Set<Int64> = []
        while try rows.step() { lineages.insert(rows.integer(0)) }
        return lineages
    }

    /// The store keeps fingerprints: it was tracked by a version that does.
    static func exists(_ connection: OpaquePointer) throws -> Bool {
        try SchemaReader.hasTable(name, on: connection)
    }
}
