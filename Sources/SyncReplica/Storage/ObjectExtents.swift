import SyncCore
import SyncStorage

/// `syncd_extent`: which objects were written after a place in the merge order.
///
/// An *extent* is the objects with 32 neighbouring numbers in `syncd_object`. Its place is the
/// greatest of theirs, or greater: what was written after a place is in the extents with a greater
/// one. An index of the places of all objects says the same more exactly, and costs each write of a
/// record an entry that is removed and one that is inserted; neighbours, which are written
/// together, share an extent.
///
/// Invariant: no object has a greater place than its extent.
enum ObjectExtents {
    private static let size = Int64(32)

    /// The extent of an object.
    static func extent(of id: Int64) -> Int64 { id / size }

    /// Raises the places of extents: id, place.
    static func raise(from rows: String) -> String {
        "INSERT INTO syncd_extent(id, place) SELECT c1, c2 FROM \(rows) WHERE true " + isRaised
    }

    /// Raises the place of one extent: id, place.
    static let raise = "INSERT INTO syncd_extent(id, place) VALUES (?1, ?2) " + isRaised

    private static let isRaised = """
        ON CONFLICT(id) DO UPDATE SET place = excluded.place WHERE excluded.place > place
        """

    /// Selects columns of the objects that were written after the place ?1.
    /// - Complexity: O(n) in the objects of the extents that have a greater place
    static func select(_ columns: String) -> String {
        """
        SELECT \(columns) FROM (SELECT id AS extent, place AS newest FROM syncd_extent)
          CROSS JOIN syncd_object
          ON id BETWEEN extent * \(size) AND extent * \(size) + \(size - 1)
        WHERE newest > ?1 AND place > ?1
        """
    }

    /// Makes the table, in the transaction that the connection is in, where the store does not use
    /// it yet, or it was dropped; and drops the index of versions before it, which an earlier one
    /// may have made again.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects) where it is made
    static func prepare(on connection: OpaquePointer, _ settings: Metadata) throws {
        let isThere =
            try settings.uses(.extents)
            && SchemaReader.hasTable("syncd_extent", on: connection)
        for sql in StoreBlueprint.extents { try RawTransaction.execute(sql, on: connection) }
        if try hasIndexOfPlaces(connection) {
            try RawTransaction.execute("DROP INDEX main.syncd_object_place", on: connection)
        }
        if isThere { return }
        try remake(on: connection)
        try settings.use(.extents)
    }

    /// Not one that a user gave this name.
    private static func hasIndexOfPlaces(_ connection: OpaquePointer) throws -> Bool {
        let select = try Statement(
            """
            SELECT 1 FROM main.sqlite_schema
            WHERE type = 'index' AND name = 'syncd_object_place' AND tbl_name = 'syncd_object'
            """, on: connection)
        return try select.step()
    }

    /// Computes all extents from the objects.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects)
    static func remake(on connection: OpaquePointer) throws {
        try RawTransaction.execute(
            """
            DELETE FROM syncd_extent;
            INSERT INTO syncd_extent(id, place)
              SELECT id / \(size), max(place) FROM syncd_object GROUP BY id / \(size)
            """, on: connection)
    }

    /// An object that its extent does not cover; nil: there is none.
    /// - Complexity: O(objects)
    static func uncovered(on connection: OpaquePointer) throws -> Int64? {
        let select = try Statement(
            """
            SELECT o.id FROM syncd_object o LEFT JOIN syncd_extent e ON e.id = o.id / \(size)
            WHERE e.place IS NULL OR e.place < o.place LIMIT 1
            """, on: connection)
        return try select.step() ? select.integer(0) : nil
    }
}
