import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_mark` and `syncd_round`: the objects that could be dropped at a vector.
///
/// Invariants
/// - A mark of a round with a vector: when that vector was the store's, the object was dead, in no
///   alias, and no record that is kept referred to it; and no transaction since then changes that:
///   writing a record removes the marks of the object and of everything that it refers to.
/// - A round without a vector is in progress: its marks are candidates.
///
/// Confined to its connection's queue.
final class CollectionMarks {
    private let connection: OpaquePointer
    private let any: Statement
    private let delete: Statement
    private var exist = false

    init(_ connection: OpaquePointer) throws {
        self.connection = connection
        any = try Statement("SELECT 1 FROM syncd_mark LIMIT 1", on: connection)
        delete = try Statement("DELETE FROM syncd_mark WHERE uid = ?1", on: connection)
        try reload()
    }

    /// Reads again whether there are marks: another connection may have written some. While there
    /// are none, writing a record costs nothing here.
    /// - Throws: as every method here: SQLite errors.
    func reload() throws {
        defer { any.reset() }
        exist = try any.step()
    }

    // MARK: Removing

    /// Removes the marks of an object whose record is written, and of everything that it refers to.
    func remove(from uid: ObjectUID, writing record: ObjectRecord) throws {
        guard exist else { return }
        try remove(from: [uid])
        for version in record.cells.joined() {
            try remove(from: version.value.compactMap(\.target))
        }
    }

    /// Removes the marks of objects.
    func remove(from uids: some Sequence<ObjectUID>) throws {
        guard exist else { return }
        for uid in uids { try delete.run(.blob(uid.bytes)) }
    }

    /// Removes all marks and rounds: the next collection starts from the beginning.
    func removeAll() throws {
        try RawTransaction.execute(
            "DELETE FROM syncd_mark; DELETE FROM syncd_round", on: connection)
    }

    // MARK: Rounds

    /// Begins a round, and removes the marks of an interrupted one.
    func begin(round: Int64) throws {
        try RawTransaction.execute(
            """
            DELETE FROM syncd_mark WHERE round NOT IN
              (SELECT id FROM syncd_round WHERE merged IS NOT NULL)
            """, on: connection)
        try RawTransaction.execute(
            """
            DELETE FROM syncd_round WHERE merged IS NULL
              OR id NOT IN (SELECT DISTINCT round FROM syncd_mark)
            """, on: connection)
        try Statement("INSERT INTO syncd_round(id) VALUES (?1)", on: connection).run(
            .integer(round))
    }

    /// Marks deleted objects without an alias or an open conflict as candidates.
    /// - Parameters:
    ///   - row: where the slice before ended.
    ///   - count: objects in one slice.
    /// - Returns: where this slice ended; nil: there are no more.
    /// - Complexity: O(count)
    func mark(round: Int64, after row: Int64, count: Int) throws -> Int64? {
        // `state <> 0` is the condition of the index syncd_object_state.
        let select = try Statement(
            """
            SELECT id, uid FROM syncd_object o
            WHERE state = \(StoredObject.State.gone.rawValue) AND state <> 0 AND id > ?1
              AND NOT EXISTS (SELECT 1 FROM syncd_mark m WHERE m.uid = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_alias a WHERE a.first = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_alias a WHERE a.second = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_conflict c
                WHERE c.uid = o.uid AND c.closed IS NULL)
            ORDER BY id LIMIT ?2
            """, on: connection)
        select.bind(row, at: 1)
        select.bind(Int64(count), at: 2)
        var found: [(Int64, [UInt8])] = []
        while try select.step() { found.append((select.integer(0), select.blob(1) ?? [])) }
        let insert = try Statement(
            "INSERT INTO syncd_mark(uid, round) VALUES (?1, ?2)", on: connection)
        for (_, uid) in found { try insert.run(.blob(uid), .integer(round)) }
        if !found.isEmpty { exist = true }
        return found.last?.0
    }

    /// Ends a round: its marks hold at `vector`, which is the store's.
    func end(round: Int64, at vector: VersionVector) throws {
        try Statement("UPDATE syncd_round SET merged = ?2 WHERE id = ?1", on: connection)
            .run(.integer(round), .blob(vector.stored))
    }

    // MARK: Reading

    /// The marked objects.
    /// - Complexity: O(marks)
    func all() throws -> Set<ObjectUID> {
        let select = try Statement("SELECT uid FROM syncd_mark", on: connection)
        var marked: Set<ObjectUID> = []
        while try select.step() {
            if let uid: ObjectUID = select.identifier(0) { marked.insert(uid) }
        }
        return marked
    }

    /// Some of the objects that were marked at vectors that `stable` covers.
    /// - Parameter count: how many at most.
    /// - Throws: `badData` for vectors that cannot be read.
    /// - Complexity: O(rounds + count)
    func droppable(at stable: VersionVector, count: Int) throws -> [ObjectUID] {
        let rounds = try Statement(
            "SELECT id, merged FROM syncd_round WHERE merged IS NOT NULL", on: connection)
        var ripe: [Int64] = []
        while try rounds.step() {
            if stable.covers(try VersionVector(stored: rounds.blob(1))) {
                ripe.append(rounds.integer(0))
            }
        }
        let select = try Statement(
            "SELECT uid FROM syncd_mark WHERE round = ?1 LIMIT ?2", on: connection)
        var uids: [ObjectUID] = []
        for round in ripe where uids.count < count {
            select.bind(round, at: 1)
            select.bind(Int64(count - uids.count), at: 2)
            while try select.step() {
                guard let uid: ObjectUID = select.identifier(0) else {
                    throw SyncError(
                        .corrupt, "an identity in syncd_mark does not have 16 bytes")
                }
                uids.append(uid)
            }
            select.reset()
        }
        return uids
    }
}
