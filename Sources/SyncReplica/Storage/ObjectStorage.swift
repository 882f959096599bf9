import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_object` and `syncd_alias`: what was stated, and how it stands in the tables.
final class ObjectStorage {
    private let schema: MergeSchema
    private let shapes: Shapes
    private let replicas: ReplicaNames
    private let marks: CollectionMarks
    private let selectAll: Statement
    private let selectAfter: Statement
    private let upsert: Statement
    private let remove: Statement
    private let selectOne: Statement
    private let selectByKey: Statement
    private let selectTroubled: Statement
    private let selectPartners: Statement
    private let selectReserved: Statement
    private let dropReservation: Statement
    private let selectAnyReserved: Statement
    private let selectAliases: Statement
    private let insertAlias: Statement
    private let greatestNumber: Statement
    /// Whether numbers are reserved for hidden objects; nil while nobody has asked in this
    /// transaction.
    private var hasReservations: Bool?

    private static let columns = "uid, shape, key, number, state, place, record"

    init(
        _ connection: OpaquePointer, _ schema: MergeSchema, _ shapes: Shapes,
        _ replicas: ReplicaNames, _ marks: CollectionMarks
    ) throws {
        self.marks = marks
        self.schema = schema
        self.shapes = shapes
        self.replicas = replicas
        selectAll = try Statement(connection, "SELECT \(Self.columns) FROM syncd_object")
        selectAfter = try Statement(
            connection, "SELECT \(Self.columns) FROM syncd_object WHERE place > ?1")
        selectOne = try Statement(
            connection, "SELECT \(Self.columns) FROM syncd_object WHERE uid = ?1")
        selectByKey = try Statement(
            connection,
            "SELECT uid FROM syncd_object WHERE key = ?1 AND shape = ?2 AND key IS NOT NULL")
        selectTroubled = try Statement(
            connection,
            """
            SELECT uid FROM syncd_object
            WHERE state = \(StoredObject.State.unresolved.rawValue) AND state <> 0
            """)
        selectPartners = try Statement(
            connection,
            """
            SELECT first, second, replica, number FROM syncd_alias WHERE first = ?1
            UNION ALL SELECT first, second, replica, number FROM syncd_alias WHERE second = ?1
            """)
        selectReserved = try Statement(
            connection,
            """
            SELECT uid FROM syncd_object
            WHERE number = ?1 AND shape = ?2 AND number IS NOT NULL AND key IS NULL
            """)
        selectAnyReserved = try Statement(
            connection,
            """
            SELECT 1 FROM syncd_object INDEXED BY syncd_object_number
            WHERE number IS NOT NULL AND key IS NULL LIMIT 1
            """)
        dropReservation = try Statement(
            connection,
            """
            UPDATE syncd_object SET number = NULL
            WHERE number = ?1 AND shape = ?2 AND number IS NOT NULL AND key IS NULL AND uid <> ?3
            """)
        upsert = try Statement(
            connection,
            """
            INSERT INTO syncd_object(uid, shape, key, number, state, place, record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT(uid) DO UPDATE SET shape = excluded.shape, key = excluded.key,
              number = excluded.number, state = excluded.state, place = excluded.place,
              record = excluded.record
            """)
        remove = try Statement(connection, "DELETE FROM syncd_object WHERE uid = ?1")
        selectAliases = try Statement(
            connection, "SELECT first, second, replica, number FROM syncd_alias")
        insertAlias = try Statement(
            connection,
            """
            INSERT INTO syncd_alias(first, second, replica, number) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(first, second) DO UPDATE SET
              replica = excluded.replica, number = excluded.number
            """)
        greatestNumber = try Statement(
            connection, "SELECT max(number) FROM syncd_object WHERE shape = ?1")
    }

    // MARK: Reading

    /// Begins a transaction: others may have written since the last one.
    func begin() { hasReservations = nil }

    private func isAnyNumberReserved() throws -> Bool {
        if let hasReservations { return hasReservations }
        defer { selectAnyReserved.reset() }
        let answer = try selectAnyReserved.step()
        hasReservations = answer
        return answer
    }

    /// All objects.
    func all() throws -> [ObjectUID: StoredObject] {
        var objects: [ObjectUID: StoredObject] = [:]
        while try selectAll.step() {
            guard let (uid, object) = try object(selectAll) else { continue }
            objects[uid] = object
        }
        return objects
    }

    /// The objects that a transaction after a place told of.
    func forEach(
        after place: Int64, _ body: (ObjectUID, StoredObject) throws -> Void
    ) throws {
        selectAfter.bind(1, place)
        defer { selectAfter.reset() }
        while try selectAfter.step() {
            guard let (uid, object) = try object(selectAfter) else { continue }
            try body(uid, object)
        }
    }

    /// The object of an identity; nil when nothing is known of it.
    func object(_ uid: ObjectUID) throws -> StoredObject? {
        selectOne.bind(1, uid.bytes)
        defer { selectOne.reset() }
        return try selectOne.step() ? try object(selectOne)?.1 : nil
    }

    /// The identity that the row of a key is shown under.
    func uid(of key: RowKey) throws -> ObjectUID? {
        selectByKey.bind(1, StoredObject.stored(key.values))
        selectByKey.bind(2, shapes.number(of: key.entity))
        defer { selectByKey.reset() }
        return try selectByKey.step() ? try uid(selectByKey.blob(0)) : nil
    }

    /// The objects that are in the region of every merge.
    func unresolved() throws -> [ObjectUID] {
        var uids: [ObjectUID] = []
        while try selectTroubled.step() { uids.append(try uid(selectTroubled.blob(0))) }
        return uids
    }

    /// The aliases that an identity is part of.
    func aliases(of uid: ObjectUID) throws -> [(MergeState.Alias, Dot)] {
        selectPartners.bind(1, uid.bytes)
        defer { selectPartners.reset() }
        var aliases: [(MergeState.Alias, Dot)] = []
        while try selectPartners.step() {
            let alias = MergeState.Alias(
                try self.uid(selectPartners.blob(0)), try self.uid(selectPartners.blob(1)))
            let replica = try replicas.name(of: selectPartners.integer(2))
            aliases.append((alias, Dot(replica, selectPartners.integer(3))))
        }
        return aliases
    }

    /// Whether any two identities are one object.
    func hasAliases() throws -> Bool {
        defer { selectAliases.reset() }
        return try selectAliases.step()
    }

    /// The hidden object that a private number is reserved for.
    func holder(ofNumber number: Int64, _ entity: Int) throws -> ObjectUID? {
        guard try isAnyNumberReserved() else { return nil }
        selectReserved.bind(1, number)
        selectReserved.bind(2, shapes.number(of: entity))
        defer { selectReserved.reset() }
        return try selectReserved.step() ? try uid(selectReserved.blob(0)) : nil
    }

    /// Takes a private number from the hidden objects that it is reserved for.
    func takeNumber(_ number: Int64, _ entity: Int, for uid: ObjectUID) throws {
        guard try isAnyNumberReserved() else { return }
        try dropReservation.run(
            .integer(number), .integer(shapes.number(of: entity)), .blob(uid.bytes))
    }

    /// The pairs of identities that are one object, with the transaction that said so.
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
        guard let uid = ObjectUID(bytes: bytes ?? []) else {
            throw SyncError(.corrupt, "an object's identity has not 16 bytes")
        }
        return uid
    }

    /// An object; nil when its table is gone.
    private func object(_ row: Statement) throws -> (ObjectUID, StoredObject)? {
        guard let position = shapes.position(of: row.integer(1)) else { return nil }
        let widths = schema.entities[position].cells.map(\.count)
        let record = try RecordCoding.decode(
            row.blob(6) ?? [], entity: position, widths: widths, replicas)
        let key = try StoredObject.key(stored: row.value(2))
        guard key.map({ $0.count == schema.entities[position].key.count }) ?? true else {
            throw SyncError(
                .corrupt,
                "the key of an object of \(schema.entities[position].name) has another number of "
                    + "columns than the table's")
        }
        let object = StoredObject(
            record: record, key: key,
            number: row.integerOrNil(3),
            state: StoredObject.State(rawValue: row.integer(4)) ?? .unresolved,
            place: row.integer(5))
        return (try uid(row.blob(0)), object)
    }

    // MARK: Writing

    /// Stores an object.
    func write(_ uid: ObjectUID, _ object: StoredObject) throws {
        if object.key == nil, object.number != nil { hasReservations = true }
        upsert.bind(1, uid.bytes)
        upsert.bind(2, shapes.number(of: object.record.entity))
        upsert.bind(3, StoredObject.stored(object.key))
        upsert.bind(4, object.number.map(Value.integer) ?? .null)
        upsert.bind(5, object.state.rawValue)
        upsert.bind(6, object.place)
        upsert.bind(7, try RecordCoding.encode(object.record, replicas))
        try upsert.run()
        try marks.void(uid, object.record)
    }

    /// Forgets an object.
    func remove(_ uid: ObjectUID) throws { try remove.run(.blob(uid.bytes)) }

    /// Stores an alias.
    func write(_ alias: MergeState.Alias, _ dot: Dot) throws {
        try marks.void([alias.first, alias.second])
        insertAlias.bind(1, alias.first.bytes)
        insertAlias.bind(2, alias.second.bytes)
        insertAlias.bind(3, try replicas.number(of: dot.replica))
        insertAlias.bind(4, dot.number)
        try insertAlias.run()
    }

    /// The greatest private number that an entity's objects have or reserve.
    func greatestNumber(of entity: Int) throws -> Int64 {
        greatestNumber.bind(1, shapes.number(of: entity))
        defer { greatestNumber.reset() }
        return try greatestNumber.step() ? greatestNumber.integer(0) : 0
    }
}
