import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// States what writers of this replica have inserted, updated and deleted, row by row, without a
/// region or a view: from the log and the tables to the records.
///
/// The writers worked on tables that are the view of what is stored. A *plain* row shows what its
/// object states, alone; what they wrote into it, and rows that they inserted, are shown as they
/// are, because the tables hold their constraints, and nothing waits for what they gave up. So the
/// facts are the cells that differ from the record, and the end of each row that is gone and that
/// no row refers to. docs/merge-design.md, *The local lane*.
///
/// Invariants
/// - What the lane writes is what the general way writes (``RegionUpdate``), in every table but for
///   the ids of `syncd_object`.
/// - All transactions of a recording are stated by it, or none.
///
/// Confined to its connection's queue and to one transaction.
final class LocalLane {
    let transaction: MergeTransaction
    let storage: ReplicaStorage
    let recording: LocalRecording
    let objects: StatedObjects
    /// The window that is being stated.
    private(set) var writes: LoggedWrites
    /// By row: the identity of its object; nil: not known yet.
    var uids: IdentityList
    /// The identities of deleted rows that later windows name.
    private var ended: [RowKey: ObjectUID] = [:]
    /// The objects of rows that were there before.
    let targets: StoredTargets
    /// How far a key may refer to a key that refers to a key; more may be a circle.
    static let depthMax = 50

    let surroundings: Surroundings
    /// The number of this replica in `syncd_replica`.
    let replica: Int64
    private let windowMax: Int
    private var changes: ChangeLists
    private let firstPosition: Int64
    private let widths: [[Int]]
    // Used for each row, so that they are allocated once.
    var shown = RowCells()
    var parsed = LaneRecord()
    var stored: [UInt8] = []
    /// The objects of the rows that are read together, and their records, one after the other.
    private var found: [Found?] = []
    private var foundRecords: [UInt8] = []
    var record = ByteWriter()
    /// The transactions of the versions that are written.
    var dots: [RecordDot] = []
    private var item: LaneItem
    /// The private numbers of the new rows of the window.
    private var numbered: [(number: Int64, entity: Int, uid: ObjectUID)] = []
    /// By entity: the difference that its objects make to the sums.
    private var sums: [UInt128]
    private var count = 0

    /// How many rows are read at once: what is written of them is in memory.
    private static let rowsMax = 500
    /// Bytes of a record that is held with others.
    private static let heldMax = 16 << 10

    /// What is stored of the object of a row.
    private struct Found {
        let id: Int64
        let uid: ObjectUID
        let isPlain: Bool
        /// In ``foundRecords``; nil: it is large, and is read when it is needed.
        let record: Range<Int>?
    }

    /// What is unresolved, and what depends on it.
    struct Surroundings {
        /// Unresolved objects, and all that they name.
        var objects: Set<ObjectUID> = []
        var entities: Set<Int> = []
    }

    /// States the transactions of a recording, and appends their headers.
    /// - Returns: false where they have to go the general way; nothing is written then.
    /// - Throws: SQLite errors; `corrupt`. The transaction has to be rolled back then.
    /// - Complexity: O(changes, and what is unresolved)
    static func state(
        _ recording: LocalRecording, in transaction: MergeTransaction
    ) throws -> Bool {
        do {
            try state(recording, in: transaction, windowMax: transaction.environment.windowMax)
            return true
        } catch let reason as LocalLaneReason {
            transaction.environment.tally.count(unstated: reason.rawValue)
            return false
        }
    }

    private static func state(
        _ recording: LocalRecording, in transaction: MergeTransaction, windowMax: Int
    ) throws {
        let lane = try LocalLane(recording, in: transaction, windowMax: windowMax)
        do {
            try lane.storeAll()
        } catch LocalLaneReason.reference where !lane.writes.isWhole {
            // It may lead to a row that begins in a later window.
            return try state(recording, in: transaction, windowMax: .max)
        }
        transaction.environment.tally.count(stated: lane.count)
    }

    private init(
        _ recording: LocalRecording, in transaction: MergeTransaction, windowMax: Int
    ) throws {
        self.recording = recording
        self.transaction = transaction
        self.windowMax = windowMax
        storage = transaction.storage
        targets = StoredTargets(transaction.storage)
        guard !storage.schema.merge.sharesNumbers else { throw LocalLaneReason.number }
        guard try !storage.objects.hasAliases() else { throw LocalLaneReason.alias }
        objects = try storage.stated()
        objects.writing.removeRows()
        writes = try LoggedWrites(
            recording, from: storage.unrecorded, entities: objects.entities, changesMax: windowMax)
        uids = IdentityList(count: writes.count)
        surroundings = try Self.surroundings(in: storage)
        replica = try storage.replicas.number(of: recording.last.dot.replica)
        firstPosition = transaction.nextPosition
        changes = ChangeLists(storage.shapes)
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
        item = LaneItem(storage)
        sums = Array(repeating: 0, count: storage.schema.tables.count)
    }

    private static func surroundings(in storage: ReplicaStorage) throws -> Surroundings {
        var surroundings = Surroundings()
        let unresolved = try storage.objects.objects(try storage.objects.unresolved())
        surroundings.objects = Set(unresolved.keys)
        for object in unresolved.values {
            surroundings.objects.formUnion(object.record.targets)
            surroundings.entities.insert(object.record.entity)
        }
        return surroundings
    }

    // MARK: Rows

    private func storeAll() throws {
        let connection = storage.connection
        try RawTransaction.execute("SAVEPOINT syncd_local", on: connection)
        do {
            try storeWindows()
        } catch let reason as LocalLaneReason {
            try RawTransaction.execute(
                "ROLLBACK TO syncd_local; RELEASE syncd_local", on: connection)
            throw reason
        }
        try RawTransaction.execute("RELEASE syncd_local", on: connection)
        for (entity, difference) in sums.enumerated() {
            storage.totals.add(difference, to: entity)
        }
        try changes.store(recording.headers, in: transaction)
    }

    private func storeWindows() throws {
        while true {
            try storeRows()
            // What follows finds the objects of this window.
            guard try objects.writing.store() else { throw LocalLaneReason.identity }
            // Also from the objects that ended in this window.
            for (number, entity, uid) in numbered {
                try storage.objects.takeNumber(number, entity: entity, for: uid)
            }
            numbered.removeAll(keepingCapacity: true)
            for place in writes.places { try describe(place) }
            if writes.isLast { return }
            // One window at a time.
            writes.removeAll()
            uids = IdentityList(count: 0)
            writes = try LoggedWrites(
                recording, from: storage.unrecorded, entities: objects.entities,
                start: writes.end, changesMax: windowMax)
            uids = IdentityList(count: writes.count)
        }
    }

    /// Stores what the window has of each row. Those of one entity are read together.
    private func storeRows() throws {
        var rows: [[Int]] = Array(repeating: [], count: objects.entities.count)
        for row in 0..<writes.count where !writes.isEarlier(row) {
            let entity = writes.entity(of: row)
            rows[entity].append(row)
            if rows[entity].count == Self.rowsMax {
                try store(rows[entity], of: entity)
                rows[entity].removeAll(keepingCapacity: true)
            }
        }
        for (entity, rows) in rows.enumerated() { try store(rows, of: entity) }
    }

    private func store(_ rows: [Int], of position: Int) throws {
        if rows.isEmpty { return }
        guard let entity = objects.entities[position] else { throw LocalLaneReason.entity }
        // What waits for a value of the table may get it.
        guard !entity.hasClaims || !surroundings.entities.contains(position) else {
            throw LocalLaneReason.trouble
        }
        try find(rows, entity)
        let present = try objects.rows(of: entity)
        for row in rows {
            present.addRow()
            for (place, value) in writes.key(of: row).values.enumerated() {
                present.bind(value, at: Int32(place + 1))
            }
        }
        // Those that have no row are left out.
        var next = 0
        try present.forEachRow { statement in
            let place = Int(statement.integer(Int32(entity.table.columns.count))) - 1
            while next < place {
                try store(rows[next], entity, found[next], present: nil)
                next += 1
            }
            // A second row of one key: there is none.
            guard place == next else { throw LocalLaneReason.key }
            try store(rows[next], entity, found[next], present: statement)
            next += 1
        }
        while next < rows.count {
            try store(rows[next], entity, found[next], present: nil)
            next += 1
        }
    }

    /// Looks up the objects of rows.
    private func find(_ rows: [Int], _ entity: StatedEntity) throws {
        let shape = storage.shapes.number(of: entity.position)
        for row in rows {
            objects.findAll.addRow()
            objects.findAll.bind(
                StoredKey.value(of: writes.key(of: row).values, as: .selfDescribing), at: 1)
            objects.findAll.bind(shape, at: 2)
        }
        found.removeAll(keepingCapacity: true)
        foundRecords.removeAll(keepingCapacity: true)
        try objects.findAll.forEachRow { statement in
            // The first one of several objects of one key.
            guard Int(statement.integer(4)) > found.count else { return }
            guard !statement.isNull(0) else { return found.append(nil) }
            let start = foundRecords.count
            let isHeld = statement.withBlob(3) { bytes in
                guard bytes.count <= Self.heldMax else { return false }
                bytes.withMemoryRebound(to: UInt8.self) { foundRecords.append(contentsOf: $0) }
                return true
            }
            found.append(
                Found(
                    id: statement.integer(0), uid: try uid(statement),
                    isPlain: statement.integer(2) == StoredObject.State.plain.rawValue,
                    record: isHeld ? start..<foundRecords.count : nil))
        }
    }

    /// - Parameter present: the row, as ``StatedObjects/rows(of:)`` reads it; nil: there is none.
    private func store(
        _ row: Int, _ entity: StatedEntity, _ object: Found?, present: Statement?
    ) throws {
        let isNew = writes.inserter(of: row) != nil && !writes.isRecreated(row)
        let key = writes.key(of: row).values
        guard let object else {
            guard isNew else { throw LocalLaneReason.incomplete }
            if writes.isVanished(row) { return try requireGone(key, entity) }
            return try insert(row, entity, key, present)
        }
        guard !isNew else { throw LocalLaneReason.delete }
        let (id, uid) = (object.id, object.uid)
        guard object.isPlain, !surroundings.objects.contains(uid) else {
            throw LocalLaneReason.trouble
        }
        uids[row] = uid
        stored.removeAll(keepingCapacity: true)
        if let record = object.record {
            stored.append(contentsOf: foundRecords[record])
        } else {
            try readRecord(of: id)
        }
        let isRecord = stored.withUnsafeBytes {
            parsed.read($0, widths: widths[entity.position])
        }
        // The row of a plain object with one version of each cell shows them all: no conflict of it
        // is open.
        guard isRecord, parsed.isSimple else { throw LocalLaneReason.versions }
        if writes.isRecreated(row) {
            try recreate(row, entity, key, present, id: id, uid: uid)
        } else if let deleter = writes.deleter(of: row) {
            try delete(entity, key, id: id, uid: uid, by: deleter)
            if writes.isLater(row) { ended[writes.key(of: row)] = uid }
        } else {
            try update(row, entity, key, present, id: id, uid: uid)
        }
    }

    private func readRecord(of id: Int64) throws {
        let select = try storage.statements.statement(
            "SELECT record FROM syncd_object WHERE id = ?1")
        select.bind(id, at: 1)
        defer { select.reset() }
        guard try select.step() else { throw LocalLaneReason.incomplete }
        select.withBlob(0) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { stored.append(contentsOf: $0) }
        }
    }

    private func update(
        _ row: Int, _ entity: StatedEntity, _ key: [Value], _ present: Statement?, id: Int64,
        uid: ObjectUID
    ) throws {
        try read(present, key, entity)
        let cells = try changedCells(of: row, entity)
        guard !cells.isEmpty else { return }
        try requireUntroubledTargets()
        let newest = appendChanged(cells, of: row)
        try replaceRecord(of: uid, entity, id: id, newest: newest, by: ObjectWriting.replace)
    }

    /// Ends the object of a row that is gone.
    private func delete(
        _ entity: StatedEntity, _ key: [Value], id: Int64, uid: ObjectUID, by deleter: Int
    ) throws {
        // What falls back to it is shown otherwise.
        guard surroundings.objects.isEmpty || !entity.isFallback else {
            throw LocalLaneReason.trouble
        }
        try requireGone(key, entity)
        try requireUntroubledTargets()
        appendDeleted(by: deleter)
        try replaceRecord(of: uid, entity, id: id, newest: deleter, by: ObjectWriting.end)
        if entity.isPrivate { storage.objects.noteReservation() }
    }

    /// Ends the life of an object and begins the next one.
    private func recreate(
        _ row: Int, _ entity: StatedEntity, _ key: [Value], _ present: Statement?, id: Int64,
        uid: ObjectUID
    ) throws {
        guard entity.blendingCells.isEmpty else { throw LocalLaneReason.policy }
        guard surroundings.objects.isEmpty || !entity.isFallback else {
            throw LocalLaneReason.trouble
        }
        // Beyond it lives are not told apart by their numbers.
        guard parsed.lifeIncarnation < Life.incarnationMax else { throw LocalLaneReason.versions }
        try requireUntroubledTargets()
        try read(present, key, entity)
        let newest = appendRecreated(row, entity)
        try replaceRecord(of: uid, entity, id: id, newest: newest, by: ObjectWriting.replace)
    }

    private func insert(
        _ row: Int, _ entity: StatedEntity, _ key: [Value], _ present: Statement?
    ) throws {
        guard entity.blendingCells.isEmpty else { throw LocalLaneReason.policy }
        let uid = try identity(of: row, depth: 0)
        // A row that waits for it, or falls back to it, is shown otherwise.
        guard
            surroundings.objects.isEmpty
                || !entity.isFallback && !surroundings.objects.contains(uid)
        else { throw LocalLaneReason.trouble }
        try read(present, key, entity)
        let newest = appendNew(row, entity)
        if storage.totals.isKept(entity.position) { try addSum(of: uid, entity) }
        try storage.marks.remove(from: CollectionOfOne(uid))
        if entity.isPrivate, case .integer(let number) = key[0] {
            numbered.append((number, entity.position, uid))
        }
        let isNew = try objects.writing.insert(
            uid, shape: storage.shapes.number(of: entity.position),
            key: StoredKey.value(of: key, as: .selfDescribing),
            number: entity.isPrivate ? key[0] : .null, place: firstPosition + Int64(newest),
            record: record.bytes)
        guard isNew else { throw LocalLaneReason.identity }
        count += 1
    }

    /// Stores `record` in the place of `stored`.
    /// - Parameters:
    ///   - newest: the position of the newest transaction in it.
    ///   - write: takes the id, the place in the merge order and the record.
    private func replaceRecord(
        of uid: ObjectUID, _ entity: StatedEntity, id: Int64, newest: Int,
        by write: (ObjectWriting) -> (Int64, Int64, [UInt8]) throws -> Void
    ) throws {
        if storage.totals.isKept(entity.position) {
            sums[entity.position] &-= try stored.withUnsafeBytes {
                try item.hash($0, of: uid, entity: entity.position)
            }
            try addSum(of: uid, entity)
        }
        try storage.marks.remove(from: CollectionOfOne(uid))
        try write(objects.writing)(id, firstPosition + Int64(newest), record.bytes)
        count += 1
    }

    private func addSum(of uid: ObjectUID, _ entity: StatedEntity) throws {
        sums[entity.position] &+= try record.bytes.withUnsafeBytes {
            try item.hash($0, of: uid, entity: entity.position)
        }
    }

    private func uid(_ row: Statement) throws -> ObjectUID {
        guard let uid: ObjectUID = row.identifier(1) else {
            throw SyncError(.corrupt, "an identity in syncd_object does not have 16 bytes")
        }
        return uid
    }

    // MARK: Headers

    /// Notes the changes of a transaction that are in the window.
    private func describe(_ place: Int) throws {
        for change in writes.changes(of: place) {
            guard let uid = try identity(ofChanged: change.row) else { continue }
            changes.append(change, of: uid, entity: writes.entity(of: change.row))
        }
        // The next window has the others.
        if place == writes.end.place { return }
        try changes.end(recording.transaction(at: place), at: place)
    }

    /// The identity of a row for the list of changes; nil: it has none.
    private func identity(ofChanged row: Int) throws -> ObjectUID? {
        if let uid = uids[row] ?? vanishedIdentity(of: row) { return uid }
        if writes.isVanished(row) { return nil }
        let key = writes.key(of: row)
        // A row of an earlier window.
        guard let uid = try ended[key] ?? targets.uid(of: key) else {
            throw SyncError(.internalFault, "a row that was stated has no identity")
        }
        return uid
    }

    /// What a row is called that was inserted and deleted: no fact names it, and with a natural key
    /// it has no name.
    private func vanishedIdentity(of row: Int) -> ObjectUID? {
        let key = writes.key(of: row)
        guard writes.isVanished(row), let birth = writes.birth(of: row),
            objects.entities[key.entity]?.isPrivate == true
        else { return nil }
        return recording.uid(of: key, birth: birth)
    }
}
