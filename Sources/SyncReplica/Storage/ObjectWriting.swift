import CSQLite
import SyncMerge
import SyncStorage
import SyncValues

/// Writes many objects at once: rows of `syncd_object`, and the extents that they are in.
///
/// What is there already is written by an INSERT that always finds it: UPDATE … FROM puts the rows
/// into a table of its own first, which took 10 to 25 % longer.
///
/// Confined to its connection's queue.
final class ObjectWriting {
    /// uid, shape, key, number, place, record; fails where an identity is taken.
    private let insertion: RowStatement
    /// id, place, record.
    private let replacement: RowStatement
    /// The same; the objects have no row any more.
    private let ending: RowStatement
    /// id, place.
    private let extents: RowStatement
    /// Not among the rows of ``extents`` yet: the next object may be in it, too.
    private var extent: (id: Int64, place: Int64)?
    /// The greatest place of the rows of ``insertion``.
    private var insertedPlace = Int64(0)
    private let connection: OpaquePointer

    /// - Throws: SQLite errors.
    init(on connection: OpaquePointer) throws {
        self.connection = connection
        insertion = try RowStatement(width: 6, on: connection) { rows in
            """
            INSERT OR FAIL INTO syncd_object(uid, shape, key, number, state, place, record)
            SELECT c1, c2, c3, c4, \(StoredObject.State.plain.rawValue), c5, c6 FROM \(rows)
            """
        }
        replacement = try RowStatement(width: 3, on: connection, Self.replacement(from:))
        ending = try RowStatement(width: 3, on: connection) { rows in
            Self.replacement(from: rows)
                + ", key = NULL, state = \(StoredObject.State.gone.rawValue)"
        }
        extents = try RowStatement(width: 2, on: connection, ObjectExtents.raise(from:))
    }

    private static func replacement(from rows: String) -> String {
        """
        INSERT INTO syncd_object(id, place, record) SELECT c1, c2, c3 FROM \(rows) WHERE true
        ON CONFLICT(id) DO UPDATE SET place = excluded.place, record = excluded.record
        """
    }

    /// Adds a new plain object.
    /// - Returns: false where the identity of one that was added is taken: then the transaction has
    ///   to be rolled back, to a savepoint at least.
    /// - Throws: SQLite errors.
    func insert(
        _ uid: ObjectUID, shape: Int64, key: Value, number: Value, place: Int64, record: [UInt8]
    ) throws -> Bool {
        insertion.addRow()
        insertion.bind(uid, at: 1)
        insertion.bind(shape, at: 2)
        insertion.bind(key, at: 3)
        insertion.bind(number, at: 4)
        insertion.bind(place, at: 5)
        insertion.bind(record, at: 6)
        insertedPlace = max(insertedPlace, place)
        return try !insertion.isFull || storeInserted()
    }

    /// Replaces the record of an object that is there.
    /// - Throws: SQLite errors.
    func replace(_ id: Int64, place: Int64, record: [UInt8]) throws {
        try add(id, place: place, record: record, to: replacement)
    }

    /// Replaces the record of an object that is there, and takes its row from it. Its number stays
    /// reserved, if it has one.
    /// - Throws: SQLite errors.
    func end(_ id: Int64, place: Int64, record: [UInt8]) throws {
        try add(id, place: place, record: record, to: ending)
    }

    private func add(
        _ id: Int64, place: Int64, record: [UInt8], to statement: RowStatement
    ) throws {
        statement.addRow()
        statement.bind(id, at: 1)
        statement.bind(place, at: 2)
        statement.bind(record, at: 3)
        try raise(ObjectExtents.extent(of: id), to: place)
        if statement.isFull { try statement.run() }
    }

    /// Writes what was added.
    /// - Returns: as ``insert(_:shape:key:number:place:record:)``.
    /// - Throws: SQLite errors.
    func store() throws -> Bool {
        guard try storeInserted() else { return false }
        try replacement.run()
        try ending.run()
        try storeExtents()
        return true
    }

    /// Forgets what was added and not written.
    func removeRows() {
        for statement in [insertion, replacement, ending, extents] { statement.removeRows() }
        extent = nil
        insertedPlace = 0
    }

    private func storeInserted() throws -> Bool {
        let count = Int64(insertion.count)
        guard count > 0 else { return true }
        guard try insertion.runUnlessRefused() else { return false }
        // A new row has the number after the greatest one.
        let last = sqlite3_last_insert_rowid(connection)
        let first = ObjectExtents.extent(of: last - count + 1)
        for extent in first...ObjectExtents.extent(of: last) {
            try raise(extent, to: insertedPlace)
        }
        insertedPlace = 0
        return true
    }

    // MARK: Extents

    private func raise(_ id: Int64, to place: Int64) throws {
        if let extent, extent.id == id {
            self.extent = (id, max(extent.place, place))
        } else {
            try addExtent()
            extent = (id, place)
        }
    }

    private func addExtent() throws {
        guard let (id, place) = extent else { return }
        extents.addRow()
        extents.bind(id, at: 1)
        extents.bind(place, at: 2)
        extent = nil
        if extents.isFull { try extents.run() }
    }

    private func storeExtents() throws {
        try addExtent()
        try extents.run()
    }
}
