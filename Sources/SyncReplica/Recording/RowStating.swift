import SyncMerge
import SyncStorage
import SyncValues

/// Stores the object of each row of a table, in the order of the keys.
///
/// The values of nearly all rows go from SQLite to the record as bytes (``RowCells``). What they
/// cannot say goes by the facts (``NewObjects``), which is the same: policies that blend, numbers
/// that are shared, references that depend on the spelling, and rows that a constraint may refuse.
///
/// Confined to its connection's queue and to one transaction.
final class RowStating {
    /// Objects that were stored.
    private(set) var count = 0

    private let identities: RowIdentities
    private let storage: ReplicaStorage
    private let facts: NewObjects
    private let older: OlderTransactions
    /// The positions of the transactions in the merge order, by their numbers.
    private let positions: [Int64: Int64]
    private let objects: StatedObjects
    /// The number of this replica in `syncd_replica`.
    private let replica: Int64
    /// The transactions of what is composed.
    private var dots: [RecordDot] = []
    // Used for each row, so that they are allocated once.
    private var cells = RowCells()
    private var record = ByteWriter()
    private var item: LaneItem
    /// By entity: the sum of its objects that were stored as bytes.
    private var sums: [UInt128]

    /// - Parameters:
    ///   - firstPosition: the position that the first of the headers is going to have.
    ///   - older: gets the rows that are older than history.
    /// - Throws: SQLite errors.
    init(
        _ recording: LocalRecording, identities: RowIdentities, storage: ReplicaStorage,
        firstPosition: Int64, older: OlderTransactions
    ) throws {
        self.older = older
        self.identities = identities
        self.storage = storage
        objects = try storage.stated()
        objects.writing.removeRows()
        replica = try storage.replicas.number(of: recording.last.dot.replica)
        item = LaneItem(storage)
        sums = Array(repeating: 0, count: storage.schema.tables.count)
        facts = NewObjects(storage.schema.merge, headers: recording.headers)
        positions = Dictionary(
            uniqueKeysWithValues: recording.headers.enumerated().map { place, header in
                (header.dot.number, firstPosition + Int64(place))
            })
    }

    /// Stores what was put together: another object, or a look-up, may need it.
    func store() throws {
        guard try objects.writing.store() else { throw StatementObstacle.sameIdentity }
    }

    /// Counts what was stored.
    func end() { for (entity, sum) in sums.enumerated() { storage.totals.add(sum, to: entity) } }

    // MARK: Tables

    /// Stores the objects of all tables: each after those that it refers to.
    /// - Parameters:
    ///   - consolidation: what is logged of the rows; nil: they are stated as if nothing was.
    ///   - inserted: these rows are left out.
    /// - Returns: how many rows were left out.
    /// - Throws: ``StatementObstacle``; `refused` for a row that its table refuses; SQLite errors;
    ///   what finds the identities of rows with numbers.
    /// - Complexity: O(rows)
    func state(
        datedBy consolidation: CommitConsolidation?, besides inserted: InsertedKeys? = nil
    ) throws -> Int {
        var leftOut = 0
        for component in ReferenceOrder(of: storage.schema.merge).components {
            try older.divide()
            for entity in component.entities {
                leftOut += try state(
                    entity, datedBy: consolidation, besides: inserted,
                    mayDivide: !component.isCircular)
            }
        }
        try store()
        return leftOut
    }

    /// - Parameter mayDivide: whether older rows may be divided between transactions anywhere.
    private func state(
        _ entity: Int, datedBy consolidation: CommitConsolidation?,
        besides inserted: InsertedKeys?, mayDivide: Bool
    ) throws -> Int {
        let table = storage.schema.tables[entity]
        let plain = plain(entity)
        var leftOut = 0
        try forEachRow(of: entity) { select, key in
            if let inserted, inserted.contains(key) {
                leftOut += 1
                return
            }
            let uid = try identities.uid(of: key)
            let isOlder = consolidation?.births[key] == nil
            if isOlder, mayDivide { try older.divide() }
            let isLogged = consolidation?.touched.contains(key) ?? false
            let logged = isLogged ? consolidation?.dates.row(key) : nil
            let byteCount: Int
            if let plain, try read(select, plain) {
                let place = compose(plain, older: older.dot.number) { cell in
                    logged?.lastWrite(to: cell.map { plain.cells[$0] } ?? [])?.number
                }
                try insert(plain, at: key, uid: uid, place: place)
                byteCount = cells.fields.bytes.count
            } else {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                try insert(row, at: key, uid: uid) { logged?.lastWrite(to: $0) }
                byteCount = Self.byteCount(of: row)
            }
            if isOlder { older.append(uid, entity: entity, byteCount: byteCount) }
        }
        return leftOut
    }

    private func plain(_ entity: Int) -> StatedEntity? {
        objects.entities[entity].flatMap { $0.blendingCells.isEmpty ? $0 : nil }
    }

    private func forEachRow(
        of entity: Int, _ body: (Statement, RowKey) throws -> Void
    ) throws {
        let table = storage.schema.tables[entity]
        let select = try storage.statements.statement(table.selectInOrder)
        defer { select.reset() }
        while try select.step() {
            let values = table.key.map { select.value(Int32($0)) }
            try body(select, storage.schema.merge.key(entity, values))
        }
    }

    // MARK: Rows of the log

    /// Stores the object of a row of the log, or what the log says of an older row whose object is
    /// stored.
    /// - Parameter date: by the cell, or of the row itself: the number of the transaction that
    ///   wrote it last; nil: it is older than history.
    /// - Returns: whether a new object was stored: not of a row that is gone.
    /// - Throws: ``LocalLaneReason`` for a row that has to go by its facts; else as
    ///   ``state(datedBy:besides:)``.
    /// - Complexity: O(columns)
    func state(_ key: RowKey, isNew: Bool, date: (_ cell: Int?) -> Int64?) throws -> Bool {
        guard let plain = plain(key.entity) else { throw LocalLaneReason.entity }
        let select = try objects.row(of: plain)
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return false }
        let values = plain.key.map { select.value(Int32($0)) }
        let key = storage.schema.merge.key(key.entity, values)
        let uid = try identities.uid(of: key)
        guard try read(select, plain) else { throw LocalLaneReason.value }
        if isNew {
            let place = compose(plain, older: older.dot.number, date: date)
            try insert(plain, at: key, uid: uid, place: place)
        } else {
            try replace(plain, uid: uid, date: date)
        }
        return isNew
    }

    private func replace(
        _ entity: StatedEntity, uid: ObjectUID, date: (_ cell: Int?) -> Int64?
    ) throws {
        let find = try storage.statements.statement(
            "SELECT id, place, record FROM syncd_object WHERE uid = ?1")
        find.bind(uid, at: 1)
        defer { find.reset() }
        guard try find.step() else { throw LocalLaneReason.incomplete }
        let (id, place, former) = (find.integer(0), find.integer(1), find.blob(2) ?? [])
        find.reset()
        var parsed = LaneRecord()
        let widths = entity.cells.map(\.count)
        let isRecord = former.withUnsafeBytes { parsed.read($0, widths: widths) }
        guard isRecord, parsed.isSimple else { throw LocalLaneReason.versions }
        _ = compose(entity, older: parsed.lifeDot.number, date: date)
        sums[entity.position] &-= try hash(former, of: uid, entity)
        sums[entity.position] &+= try hash(record.bytes, of: uid, entity)
        try objects.writing.replace(id, place: place, record: record.bytes)
    }

    // MARK: As bytes

    /// Reads the present row.
    /// - Returns: false for one that has to go by its facts.
    private func read(_ row: Statement, _ entity: StatedEntity) throws -> Bool {
        if entity.mayRefuse, entity.refuses(row, in: storage.schema.merge) { return false }
        let targets = try entity.references.map { reference in
            try identities.target(of: reference) { row.value(Int32($0)) }?.uid
        }
        return cells.read(row, entity, targets: targets)
    }

    /// Puts the record of the row that was read together.
    /// - Parameters:
    ///   - older: the transaction of what is older than history.
    ///   - date: as in ``state(_:isNew:date:)``.
    /// - Returns: the position of the newest transaction in it.
    private func compose(
        _ entity: StatedEntity, older: Int64, date: (_ cell: Int?) -> Int64?
    ) -> Int64 {
        var place = Int64(0)
        func dot(_ cell: Int?) -> RecordDot {
            let written = date(cell)
            place = max(place, position(of: written))
            return RecordDot(replica: replica, number: written ?? older)
        }
        var form = RecordForm(.created, incarnation: 1, by: dot(nil))
        dots.removeAll(keepingCapacity: true)
        for cell in entity.cells.indices {
            dots.append(dot(cell))
            form.add(dots[cell], incarnation: 1, of: cell)
        }
        record.removeAll()
        form.appendHead(cellCount: dots.count, to: &record)
        cells.append(to: &record, dots, in: form, incarnation: 1)
        return place
    }

    /// The position of a transaction in the merge order; nil: that of the older rows.
    private func position(of number: Int64?) -> Int64 {
        number.map { positions[$0] ?? 0 } ?? older.place
    }

    /// Stores what was composed.
    private func insert(
        _ entity: StatedEntity, at key: RowKey, uid: ObjectUID, place: Int64
    ) throws {
        sums[entity.position] &+= try hash(record.bytes, of: uid, entity)
        let isNew = try objects.writing.insert(
            uid, shape: storage.shapes.number(of: entity.position),
            key: StoredKey.value(of: key.values, as: .selfDescribing),
            number: entity.isPrivate ? key.values[0] : .null, place: place, record: record.bytes)
        guard isNew else { throw StatementObstacle.sameIdentity }
        count += 1
    }

    private func hash(
        _ record: [UInt8], of uid: ObjectUID, _ entity: StatedEntity
    ) throws -> UInt128 {
        try record.withUnsafeBytes { try item.hash($0, of: uid, entity: entity.position) }
    }

    // MARK: By facts

    private static func byteCount(of row: [Value]) -> Int {
        row.reduce(0) { sum, value in
            switch value {
            case .text(let text): sum + text.utf8.count
            case .blob(let bytes): sum + bytes.count
            default: sum + 8
            }
        }
    }

    private func insert(
        _ row: [Value], at key: RowKey, uid: ObjectUID, _ date: (_ columns: [Int]) -> Dot?
    ) throws {
        let entity = storage.schema.merge.entities[key.entity]
        let fields = try identities.fields(of: row, entity: key.entity)
        let refused = RefusedRow(row, as: fields, of: key.entity, in: storage.schema)
        if let refused { throw refused.error }
        var place = Int64(0)
        let record = facts.record(of: uid, entity: key.entity, fields: fields.stated) { columns in
            let dot = date(columns)
            place = max(place, position(of: dot?.number))
            return dot ?? older.dot
        }
        guard let record else { throw StatementObstacle.changedValue }
        var object = StoredObject(
            record: record, key: key.values, number: nil, state: .plain, place: place)
        if entity.isPrivate, case .integer(let number) = key.values[0] { object.number = number }
        guard try storage.objects.insert(object, uid: uid) else {
            throw StatementObstacle.sameIdentity
        }
        count += 1
    }
}
