import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_object` and `syncd_alias`: the facts of each object, and how the tables show it.
///
/// Queries for one state or for reserved numbers repeat the condition of a partial index
/// (`state <> 0`; `number IS NOT NULL AND key IS NULL`), although another condition implies it:
/// SQLite uses a partial index only if the WHERE clause contains its condition
/// (https://www.sqlite.org/partialindex.html).
///
/// Confined to its connection's queue.
final class ObjectStorage {
    private let connection: OpaquePointer
    private let schema: MergeSchema
    private let shapes: Shapes
    private let replicas: ReplicaNames
    private let marks: CollectionMarks
    private let totals: SumTotals
    private let selectAll: Statement
    private let selectAfter: Statement
    private let raiseExtent: Statement
    private let upsert: Statement
    private let insertNew: Statement
    private let remove: Statement
    private let selectOne: Statement
    private let selectMany: Statement
    private let selectByKey: Statement
    private let selectUnresolved: Statement
    private let selectAliasesOfOne: Statement
    private let selectReserved: Statement
    private let dropReservation: Statement
    private let selectAnyReserved: Statement
    private let selectAliases: Statement
    private let insertAlias: Statement
    private let greatestNumber: Statement
    /// Prepared when the conflict log is read.
    private var selectKey: Statement?
    /// Whether numbers are reserved for hidden objects; nil until it is read in this transaction.
    private var hasReservations: Bool?

    /// How many objects one statement reads.
    private static let manyCount = 64
    private static let manySQL =
        "SELECT \(Column.list) FROM syncd_object WHERE uid IN ("
        + Array(repeating: "?", count: manyCount).joined(separator: ", ") + ")"

    /// The columns of the SELECTs of whole rows.
    private enum Column {
        static let list = "uid, shape, key, number, state, place, record"
        static let uid: Int32 = 0
        static let shape: Int32 = 1
        static let key: Int32 = 2
        static let number: Int32 = 3
        static let state: Int32 = 4
        static let place: Int32 = 5
        static let record: Int32 = 6
    }

    init(
        _ connection: OpaquePointer, schema: MergeSchema, shapes: Shapes,
        replicas: ReplicaNames, marks: CollectionMarks, totals: SumTotals
    ) throws {
        self.connection = connection
        self.marks = marks
        self.totals = totals
        self.schema = schema
        self.shapes = shapes
        self.replicas = replicas
        selectAll = try Statement("SELECT \(Column.list) FROM syncd_object", on: connection)
        selectAfter = try Statement(ObjectExtents.select(Column.list), on: connection)
        raiseExtent = try Statement(ObjectExtents.raise, on: connection)
        selectOne = try Statement(
            "SELECT \(Column.list) FROM syncd_object WHERE uid = ?1", on: connection)
        selectMany = try Statement(Self.manySQL, on: connection)
        selectByKey = try Statement(
            "SELECT uid FROM syncd_object WHERE key = ?1 AND shape = ?2 AND key IS NOT NULL",
            on: connection)
        selectUnresolved = try Statement(
            """
            SELECT uid FROM syncd_object
            WHERE state = \(StoredObject.State.unresolved.rawValue) AND state <> 0
            """, on: connection)
        selectAliasesOfOne = try Statement(
            """
            SELECT first, second, replica, number FROM syncd_alias WHERE first = ?1
            UNION ALL SELECT first, second, replica, number FROM syncd_alias WHERE second = ?1
            """, on: connection)
        selectReserved = try Statement(
            """
            SELECT uid, state FROM syncd_object
            WHERE number = ?1 AND shape = ?2 AND number IS NOT NULL AND key IS NULL
            """, on: connection)
        selectAnyReserved = try Statement(
            """
            SELECT 1 FROM syncd_object INDEXED BY syncd_object_number
            WHERE number IS NOT NULL AND key IS NULL LIMIT 1
            """, on: connection)
        dropReservation = try Statement(
            """
            UPDATE syncd_object SET number = NULL
            WHERE number = ?1 AND shape = ?2 AND number IS NOT NULL AND key IS NULL AND uid <> ?3
            """, on: connection)
        // Parameter n is the column Column.… = n - 1.
        upsert = try Statement(
            """
            INSERT INTO syncd_object(\(Column.list))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT(uid) DO UPDATE SET shape = excluded.shape, key = excluded.key,
              number = excluded.number, state = excluded.state, place = excluded.place,
              record = excluded.record RETURNING id
            """, on: connection)
        insertNew = try Statement(
            """
            INSERT INTO syncd_object(\(Column.list))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(uid) DO NOTHING RETURNING id
            """, on: connection)
        remove = try Statement("DELETE FROM syncd_object WHERE uid = ?1", on: connection)
        selectAliases = try Statement(
            "SELECT first, second, replica, number FROM syncd_alias", on: connection)
        insertAlias = try Statement(
            """
            INSERT INTO syncd_alias(first, second, replica, number) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(first, second) DO UPDATE SET
              replica = excluded.replica, number = excluded.number
            """, on: connection)
        greatestNumber = try Statement(
            "SELECT max(number) FROM syncd_object WHERE shape = ?1", on: connection)
    }

    // MARK: Reading

    /// Begins a transaction: other connections may have written since the last one.
    func begin() { hasReservations = nil }

    /// Whether numbers are reserved for hidden objects.
    func isAnyNumberReserved() throws -> Bool {
        if let hasReservations { return hasReservations }
        defer { selectAnyReserved.reset() }
        let answer = try selectAnyReserved.step()
        hasReservations = answer
        return answer
    }

    /// Takes note that an object without a row keeps its number.
    func noteReservation() { hasReservations = true }

    /// All objects.
    /// - Throws: as every method here: SQLite errors; `corrupt`, `badData` for rows that cannot
    ///   be read.
    /// - Complexity: O(facts of the store)
    func all() throws -> [ObjectUID: StoredObject] {
        var objects: [ObjectUID: StoredObject] = [:]
        try forEach { objects[$0] = $1 }
        return objects
    }

    /// Calls `body` for each object.
    /// - Complexity: O(facts of the store)
    func forEach(_ body: (ObjectUID, StoredObject) throws -> Void) throws {
        defer { selectAll.reset() }
        while try selectAll.step() {
            guard let (uid, object) = try object(selectAll) else { continue }
            try body(uid, object)
        }
    }

    /// Calls `body` with the record of each object that a transaction after a position wrote, also
    /// of tables that were dropped, and with its number in `syncd_shape` and its own. The bytes end
    /// with the call.
    /// - Complexity: O(their facts)
    func forEachRecord(
        after place: Int64,
        _ body: (ObjectUID, _ shape: Int64, Int64?, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // Of all objects none has to be found.
        let select = place > 0 ? selectAfter : selectAll
        if place > 0 { select.bind(place, at: 1) }
        try forEachRecord(of: select, after: place, body)
    }

    /// The same for records of `bytesMin` bytes or more; of shorter ones only the length is read.
    /// - Complexity: O(objects, and the facts of those with such records)
    func forEachRecord(
        after place: Int64, bytesMin: Int,
        _ body: (ObjectUID, _ shape: Int64, Int64?, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let select = try Statement(
            place > 0
                ? ObjectExtents.select(Column.list) + " AND length(record) >= ?2"
                : "SELECT \(Column.list) FROM syncd_object WHERE length(record) >= ?2",
            on: connection)
        if place > 0 { select.bind(place, at: 1) }
        select.bind(Int64(bytesMin), at: 2)
        try forEachRecord(of: select, after: place, body)
    }

    private func forEachRecord(
        of select: Statement, after place: Int64,
        _ body: (ObjectUID, _ shape: Int64, Int64?, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        defer { select.reset() }
        while try select.step() {
            guard select.integer(Column.place) > place else { continue }
            let words = select.withBlob(Column.uid) { bytes -> (UInt64, UInt64)? in
                guard bytes.count == 16 else { return nil }
                return (
                    bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian,
                    bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
                )
            }
            guard let words else { throw Self.damagedIdentity }
            try select.withBlob(Column.record) { record in
                try body(
                    ObjectUID(high: words.0, low: words.1), select.integer(Column.shape),
                    select.integerOrNil(Column.number), record)
            }
        }
    }

    /// Calls `body` for each object of an entity.
    /// - Complexity: O(their facts)
    func forEach(
        ofEntity entity: Int, _ body: (ObjectUID, StoredObject) throws -> Void
    ) throws {
        let select = try Statement(
            "SELECT \(Column.list) FROM syncd_object WHERE shape = ?1", on: connection)
        select.bind(shapes.number(of: entity), at: 1)
        while try select.step() {
            guard let (uid, object) = try object(select) else { continue }
            try body(uid, object)
        }
    }

    /// Calls `body` for each object whose table was dropped: its facts are kept for others, and for
    /// a table that is made again under the name. The entity of its record means nothing.
    /// - Complexity: O(objects, and the facts of dropped tables)
    func forEachForeign(
        _ body: (ObjectUID, Batch.Entity, ObjectRecord) throws -> Void
    ) throws {
        let own = schema.entities.indices.map { String(shapes.number(of: $0)) }
        let select = try Statement(
            """
            SELECT \(Column.list) FROM syncd_object
            WHERE shape NOT IN (\(own.joined(separator: ", ")))
            """, on: connection)
        var last: (shape: Int64, entity: Batch.Entity)?
        while try select.step() {
            let shape = select.integer(Column.shape)
            if last?.shape != shape {
                last = try shapes.foreign(shape).map { (shape, $0) }
            }
            guard let entity = last?.entity else {
                throw SyncError(.corrupt, "an object in syncd_object has an unknown shape")
            }
            let record = try RecordCoding.decode(
                select.blob(Column.record) ?? [], entity: 0, widths: entity.cells.map(\.count),
                replicas: replicas)
            try body(uid(select.blob(Column.uid)), entity, record)
        }
    }

    /// The object of an identity; nil when there is none.
    func object(_ uid: ObjectUID) throws -> StoredObject? {
        selectOne.bind(uid.bytes, at: 1)
        defer { selectOne.reset() }
        return try selectOne.step() ? try object(selectOne)?.1 : nil
    }

    /// The stored ones of some objects.
    /// - Complexity: O(their facts)
    func objects(_ uids: some Collection<ObjectUID>) throws -> [ObjectUID: StoredObject] {
        var objects: [ObjectUID: StoredObject] = [:]
        var rest = uids[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.manyCount))
            rest = rest.dropFirst(part.count)
            for place in 0..<Self.manyCount {
                selectMany.bind(place < part.count ? part[place].bytes : nil, at: Int32(place + 1))
            }
            defer { selectMany.reset() }
            while try selectMany.step() {
                guard let (uid, object) = try object(selectMany) else { continue }
                objects[uid] = object
            }
        }
        return objects
    }

    /// The identity that the row of a key is shown under.
    func uid(of key: RowKey) throws -> ObjectUID? {
        selectByKey.bind(StoredKey.value(of: key.values, as: .selfDescribing), at: 1)
        selectByKey.bind(shapes.number(of: key.entity), at: 2)
        defer { selectByKey.reset() }
        return try selectByKey.step() ? try uid(selectByKey.blob(0)) : nil
    }

    /// The objects that are in the region of every merge.
    /// - Complexity: O(unresolved objects)
    func unresolved() throws -> [ObjectUID] {
        var uids: [ObjectUID] = []
        while try selectUnresolved.step() { uids.append(try uid(selectUnresolved.blob(0))) }
        return uids
    }

    /// The aliases that an identity is part of.
    func aliases(of uid: ObjectUID) throws -> [(MergeState.Alias, Dot)] {
        selectAliasesOfOne.bind(uid.bytes, at: 1)
        defer { selectAliasesOfOne.reset() }
        var aliases: [(MergeState.Alias, Dot)] = []
        while try selectAliasesOfOne.step() {
            let alias = MergeState.Alias(
                try self.uid(selectAliasesOfOne.blob(0)), try self.uid(selectAliasesOfOne.blob(1)))
            let replica = try replicas.name(of: selectAliasesOfOne.integer(2))
            aliases.append((alias, Dot(replica, selectAliasesOfOne.integer(3))))
        }
        return aliases
    }

    /// Whether the store has an alias.
    func hasAliases() throws -> Bool {
        defer { selectAliases.reset() }
        return try selectAliases.step()
    }

    /// The hidden object that a private number is reserved for.
    /// - Returns: also whether it is deleted: its number is given to a row that has it at its
    ///   sender, where the number was used again.
    func holder(
        ofNumber number: Int64, entity: Int
    ) throws -> (uid: ObjectUID, isGone: Bool)? {
        guard try isAnyNumberReserved() else { return nil }
        selectReserved.bind(number, at: 1)
        selectReserved.bind(shapes.number(of: entity), at: 2)
        defer { selectReserved.reset() }
        guard try selectReserved.step() else { return nil }
        let isGone = selectReserved.integer(1) == StoredObject.State.gone.rawValue
        return (try uid(selectReserved.blob(0)), isGone)
    }

    /// Takes a private number from the hidden objects that it is reserved for.
    func takeNumber(_ number: Int64, entity: Int, for uid: ObjectUID) throws {
        guard try isAnyNumberReserved() else { return }
        try dropReservation.run(
            .integer(number), .integer(shapes.number(of: entity)), .blob(uid.bytes))
    }

    /// A private number that is reserved for an object and that another one has, or reserves; nil:
    /// there is none.
    /// - Complexity: O(n log n) in the hidden objects
    func numberReservedInVain() throws -> Int64? {
        let select = try Statement(
            """
            SELECT r.number FROM syncd_object r
              JOIN syncd_object o ON o.shape = r.shape AND o.number = r.number AND o.id <> r.id
            WHERE r.number IS NOT NULL AND r.key IS NULL LIMIT 1
            """, on: connection)
        return try select.step() ? select.integer(0) : nil
    }

    /// The pairs of identities that are one object, with the transaction that united them.
    /// - Complexity: O(aliases)
    func aliases() throws -> [MergeState.Alias: Dot] {
        var aliases: [MergeState.Alias: Dot] = [:]
        while try selectAliases.step() {
            let first = try uid(selectAliases.blob(0))
            let second = try uid(selectAliases.blob(1))
            let replica = try replicas.name(of: selectAliases.integer(2))
            aliases[MergeState.Alias(first, second)] = Dot(replica, selectAliases.integer(3))
        }
        return aliases
    }

    private func uid(_ bytes: [UInt8]?) throws -> ObjectUID {
        guard let uid = ObjectUID(bytes: bytes ?? []) else { throw Self.damagedIdentity }
        return uid
    }

    private static let damagedIdentity = SyncError(
        .corrupt, "an identity in syncd_object or syncd_alias does not have 16 bytes")

    /// An object; nil when its table does not exist.
    private func object(_ row: Statement) throws -> (ObjectUID, StoredObject)? {
        guard let position = shapes.position(of: row.integer(Column.shape)) else { return nil }
        let widths = schema.entities[position].cells.map(\.count)
        let record = try RecordCoding.decode(
            row.blob(Column.record) ?? [], entity: position, widths: widths, replicas: replicas)
        let key = try StoredKey.key(from: row.value(Column.key))
        guard key.map({ $0.count == schema.entities[position].key.count }) ?? true else {
            throw SyncError(
                .corrupt,
                "the key of an object of "
                    + SchemaIdentity.title(schema.entities[position].name)
                    + " does not have as many columns as the table's")
        }
        let object = StoredObject(
            record: record, key: key,
            number: row.integerOrNil(Column.number),
            state: StoredObject.State(rawValue: row.integer(Column.state)) ?? .unresolved,
            place: row.integer(Column.place))
        return (try uid(row.blob(Column.uid)), object)
    }

    // MARK: Writing

    /// Stores an object.
    /// - Parameter former: what is stored of it; nil: nothing.
    func write(
        _ object: StoredObject, uid: ObjectUID, replacing former: StoredObject?
    ) throws {
        totals.replace(former, with: object, uid: uid)
        if object.key == nil, object.number != nil { noteReservation() }
        _ = try store(object, uid: uid, by: upsert)
        try marks.remove(from: uid, writing: object.record)
    }

    /// Stores an object while no object is marked or reserves a number.
    /// - Returns: false when the identity is in use; nothing is stored then.
    func insert(_ object: StoredObject, uid: ObjectUID) throws -> Bool {
        guard try store(object, uid: uid, by: insertNew) else { return false }
        totals.replace(nil, with: object, uid: uid)
        return true
    }

    /// - Returns: whether the statement wrote it.
    private func store(
        _ object: StoredObject, uid: ObjectUID, by write: Statement
    ) throws -> Bool {
        try bind(object, uid: uid, to: write)
        var id: Int64?
        // To its end: INSERT … RETURNING is finished only then.
        while try write.step() { id = write.integer(0) }
        guard let id else { return false }
        raiseExtent.bind(ObjectExtents.extent(of: id), at: 1)
        raiseExtent.bind(object.place, at: 2)
        try raiseExtent.run()
        return true
    }

    private func bind(_ object: StoredObject, uid: ObjectUID, to write: Statement) throws {
        if object.record.hasParts { try Metadata(connection).use(.partialVersions) }
        let key = object.key.map { StoredKey.value(of: $0, as: .selfDescribing) }
        write.bind(uid.bytes, at: Column.uid + 1)
        write.bind(shapes.number(of: object.record.entity), at: Column.shape + 1)
        write.bind(key ?? .null, at: Column.key + 1)
        write.bind(object.number.map(Value.integer) ?? .null, at: Column.number + 1)
        write.bind(object.state.rawValue, at: Column.state + 1)
        write.bind(object.place, at: Column.place + 1)
        write.bind(
            try RecordCoding.encode(object.record, replicas: replicas), at: Column.record + 1)
    }

    /// Whether there is no object and no alias.
    func isEmpty() throws -> Bool {
        let any = try Statement("SELECT EXISTS (SELECT 1 FROM syncd_object)", on: connection)
        return try any.step() && any.integer(0) == 0 && !hasAliases()
    }

    /// Deletes all objects, in the transaction that stored the first of them.
    func removeAll() throws {
        try Statement("DELETE FROM syncd_object", on: connection).run()
        try totals.reload()
    }

    /// Replaces the records of objects whose tables were dropped.
    /// - Parameter transform: the new record of a stored one; nil: it stays.
    /// - Complexity: O(facts of dropped tables); what changes is in memory.
    func rewriteForeign(_ transform: (ObjectRecord) -> ObjectRecord?) throws {
        var changed: [(ObjectUID, ObjectRecord)] = []
        try forEachForeign { uid, _, record in
            if let new = transform(record) { changed.append((uid, new)) }
        }
        let update = try Statement(
            "UPDATE syncd_object SET record = ?2 WHERE uid = ?1", on: connection)
        for (uid, record) in changed {
            try update.run(
                .blob(uid.bytes), .blob(try RecordCoding.encode(record, replicas: replicas)))
        }
    }

    /// Deletes an object without a fact, or a dead one: the totals do not count it.
    func remove(_ uid: ObjectUID) throws { try remove.run(.blob(uid.bytes)) }

    /// Stores an alias.
    /// - Parameter former: the transaction that it is stored with; nil: it is not stored.
    func write(_ alias: MergeState.Alias, dot: Dot, replacing former: Dot?) throws {
        totals.replace(former, with: dot, of: alias)
        try marks.remove(from: [alias.first, alias.second])
        insertAlias.bind(alias.first.bytes, at: 1)
        insertAlias.bind(alias.second.bytes, at: 2)
        insertAlias.bind(try replicas.number(of: dot.replica), at: 3)
        insertAlias.bind(dot.number, at: 4)
        try insertAlias.run()
    }

    // MARK: Whole tables

    /// Takes the rows from all objects of an entity: its table was dropped and created again.
    /// - Complexity: O(objects of the entity)
    func clearKeys(ofEntity entity: Int) throws {
        try Statement("UPDATE syncd_object SET key = NULL WHERE shape = ?1", on: connection)
            .run(.integer(shapes.number(of: entity)))
        // Whether a row is shown is summed, too.
        try totals.forget(entity)
    }

    /// Names another replica as the writer of the aliases of its transactions after a number. The
    /// facts of objects are written with ``write(_:uid:)``.
    /// - Complexity: O(aliases)
    func renameAliases(from old: ReplicaID, to new: ReplicaID, after number: Int64) throws {
        try Statement(
            "UPDATE syncd_alias SET replica = ?1 WHERE replica = ?2 AND number > ?3", on: connection
        ).run(
            .integer(try replicas.number(of: new)), .integer(try replicas.number(of: old)),
            .integer(number))
    }

    /// Replaces the records of the objects of an entity whose cells have changed.
    /// - Parameter transform: the new record of a stored one.
    /// - Complexity: O(facts of the entity), in memory.
    static func rewriteRecords(
        _ connection: OpaquePointer, ofShape shape: Int64,
        _ transform: (ObjectUID, [UInt8]) throws -> [UInt8]
    ) throws {
        let select = try Statement(
            "SELECT id, record, uid FROM syncd_object WHERE shape = ?1", on: connection)
        let update = try Statement(
            "UPDATE syncd_object SET record = ?2 WHERE id = ?1", on: connection)
        var changed: [(Int64, [UInt8])] = []
        select.bind(shape, at: 1)
        while try select.step() {
            guard let uid: ObjectUID = select.identifier(2) else {
                throw SyncError(.corrupt, "an identity in syncd_object does not have 16 bytes")
            }
            changed.append((select.integer(0), try transform(uid, select.blob(1) ?? [])))
        }
        for (id, record) in changed { try update.run(.integer(id), .blob(record)) }
    }

    // MARK: Keys

    /// The key of an object's row; of a hidden object its reserved number.
    func keyOrNumber(of uid: ObjectUID) throws -> [Value]? {
        let select =
            try selectKey
            ?? Statement(
                "SELECT key, number FROM syncd_object WHERE uid = ?1", on: connection)
        selectKey = select
        select.bind(uid.bytes, at: 1)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return try StoredKey.key(from: select.value(0))
            ?? select.integerOrNil(1).map { [.integer($0)] }
    }

    /// The greatest private number that an entity's objects have or reserve.
    func greatestNumber(of entity: Int) throws -> Int64 {
        greatestNumber.bind(shapes.number(of: entity), at: 1)
        defer { greatestNumber.reset() }
        return try greatestNumber.step() ? greatestNumber.integer(0) : 0
    }
}
