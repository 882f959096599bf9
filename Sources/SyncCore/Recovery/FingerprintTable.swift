import SyncStorage
import SyncValues

/// `syncd_fingerprint` and `syncd_lineage`: docs/store-format.md §3.
///
/// A *lineage* is a table through all its schema changes, named by the number of its first entity.
/// Within the transaction that the connection is in; confined to the connection.
final class FingerprintTable {
    /// A row's last known state.
    struct Known: Hashable {
        /// The entity whose layout the print was taken with.
        let entity: Int64
        let print: Int64
    }

    private let select: Statement
    private let upsert: Statement
    private let insert: Statement
    private let remove: Statement
    private let selectComplete: Statement
    private let insertComplete: Statement
    private let count: Statement

    /// - Throws: when the tables are not there.
    init(_ connection: OpaquePointer) throws {
        select = try Statement(
            connection,
            "SELECT entity, print FROM syncd_fingerprint WHERE lineage = ?1 AND key = ?2")
        upsert = try Statement(
            connection,
            """
            INSERT INTO syncd_fingerprint(lineage, key, entity, print) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET entity = ?3, print = ?4
            WHERE print <> ?4 OR entity <> ?3
            """)
        insert = try Statement(
            connection,
            """
            INSERT OR IGNORE INTO syncd_fingerprint(lineage, key, entity, print)
            VALUES (?1, ?2, ?3, ?4)
            """)
        remove = try Statement(
            connection, "DELETE FROM syncd_fingerprint WHERE lineage = ?1 AND key = ?2")
        selectComplete = try Statement(
            connection, "SELECT 1 FROM syncd_lineage WHERE lineage = ?1")
        insertComplete = try Statement(
            connection, "INSERT OR IGNORE INTO syncd_lineage(lineage) VALUES (?1)")
        count = try Statement(
            connection, "SELECT count(*) FROM syncd_fingerprint WHERE lineage = ?1")
    }

    func known(_ lineage: Int64, _ key: Value) throws -> Known? {
        select.bind(1, lineage)
        select.bind(2, key)
        defer { select.reset() }
        return try select.step()
            ? Known(entity: select.integer(0), print: select.integer(1)) : nil
    }

    func put(_ lineage: Int64, _ key: Value, _ known: Known) throws {
        try upsert.run(.integer(lineage), key, .integer(known.entity), .integer(known.print))
    }

    func putIfUnknown(_ lineage: Int64, _ key: Value, _ known: Known) throws {
        try insert.run(.integer(lineage), key, .integer(known.entity), .integer(known.print))
    }

    func remove(_ lineage: Int64, _ key: Value) throws {
        try remove.run(.integer(lineage), key)
    }

    func count(_ lineage: Int64) throws -> Int64 {
        count.bind(1, lineage)
        defer { count.reset() }
        return try count.step() ? count.integer(0) : 0
    }

    /// Every row of the lineage that was there at some moment has, or had, its print: one without
    /// it is new.
    func isComplete(_ lineage: Int64) throws -> Bool {
        selectComplete.bind(1, lineage)
        defer { selectComplete.reset() }
        return try selectComplete.step()
    }

    func setComplete(_ lineage: Int64) throws { try insertComplete.run(.integer(lineage)) }

    /// All complete lineages.
    static func complete(_ connection: OpaquePointer) throws -> Set<Int64> {
        let rows = try Statement(connection, "SELECT lineage FROM syncd_lineage")
        var lineages: Set<Int64> = []
        while try rows.step() { lineages.insert(rows.integer(0)) }
        return lineages
    }

    /// The store keeps fingerprints: it was tracked by a version that does.
    static func exists(_ connection: OpaquePointer) throws -> Bool {
        try Statement(
            connection, "SELECT 1 FROM sqlite_schema WHERE name = 'syncd_fingerprint'"
        ).step()
    }
}
