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

    private let recording: LocalRecording
    private let consolidation: CommitConsolidation
    private let identities: RowIdentities
    private let storage: ReplicaStorage
    private let objects: NewObjects
    private let older: OlderTransactions
    /// The positions of the transactions in the merge order, by their numbers.
    private let positions: [Int64: Int64]
    private let stated: StatedObjects
    /// The number of this replica in `syncd_replica`.
    private let replica: Int64
    // Used for each row, so that they are allocated once.
    private var cells = RowCells()
    private var record = ByteWriter()
    private var dots: [RecordDot] = []
    private var item: LaneItem
    /// The sum of the objects of a table that were stored as bytes.
    private var sum: UInt128 = 0

    /// - Parameters:
    ///   - firstPosition: the position that the first of the headers is going to have.
    ///   - older: gets the rows that are older than history.
    /// - Throws: SQLite errors.
    init(
        _ recording: LocalRecording, consolidation: CommitConsolidation,
        identities: RowIdentities, storage: ReplicaStorage, firstPosition: Int64,
        older: OlderTransactions
    ) throws {
        stated = try storage.stated()
        replica = try storage.replicas.number(of: recording.last.dot.replica)
        item = LaneItem(storage)
        self.older = older
        self.recording = recording
        self.consolidation = consolidation
        self.identities = identities
        self.storage = storage
        objects = NewObjects(storage.schema.merge, headers: recording.headers)
        positions = Dictionary(
            uniqueKeysWithValues: recording.headers.enumerated().map { place, header in
                (header.dot.number, firstPosition + Int64(place))
            })
    }

    /// Stores the objects of an entity.
    /// - Parameter mayDivide: whether its older rows may be divided between transactions anywhere.
    /// - Throws: ``StatementObstacle``; `refused` for a row that its table refuses; SQLite errors.
    /// - Complexity: O(rows)
    func state(_ entity: Int, mayDivide: Bool) throws {
        let table = storage.schema.tables[entity]
        let plain = stated.entities[entity].flatMap { $0.blendingCells.isEmpty ? $0 : nil }
        let select = try storage.statements.statement(table.selectInOrder)
        defer { select.reset() }
        sum = 0
        while try select.step() {
            let values = table.key.map { select.value(Int32($0)) }
            let key = storage.schema.merge.key(entity, values)
            let uid = try identities.uid(of: key)
            if mayDivide { try older.divide() }
            let byteCount: Int
            if let plain, try read(select, plain) {
                try store(plain, at: key, uid: uid)
                byteCount = cells.fields.bytes.count
            } else {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                try store(row, at: key, uid: uid)
                byteCount = Self.byteCount(of: row)
            }
            count += 1
            if consolidation.births[key] == nil {
                older.append(uid, entity: entity, byteCount: byteCount)
            }
        }
        storage.totals.add(sum, to: entity)
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

    /// Stores the row that was read.
    private func store(_ entity: StatedEntity, at key: RowKey, uid: ObjectUID) throws {
        dots.removeAll(keepingCapacity: true)
        let isOlder = !consolidation.touched.contains(key)
        var place = Int64(0)
        func date(_ columns: [Int]) -> RecordDot {
            let written = isOlder ? nil : self.date(of: columns, at: key)
            place = max(place, position(of: written))
            return RecordDot(replica: replica, number: (written ?? older.dot).number)
        }
        let life = date([])
        var form = RecordForm(.created, incarnation: 1, by: life)
        for (cell, columns) in entity.cells.enumerated() {
            dots.append(date(columns))
            form.add(dots[cell], incarnation: 1, of: cell)
        }
        record.removeAll()
        form.appendHead(cellCount: dots.count, to: &record)
        cells.append(to: &record, dots, in: form, incarnation: 1)
        sum &+= try record.bytes.withUnsafeBytes {
            try item.hash($0, of: uid, entity: entity.position)
        }
        let insert = stated.insert
        insert.bind(uid, at: 1)
        insert.bind(storage.shapes.number(of: entity.position), at: 2)
        insert.bind(StoredKey.value(of: key.values, as: .selfDescribing), at: 3)
        insert.bind(entity.isPrivate ? key.values[0] : .null, at: 4)
        insert.bind(place, at: 5)
        insert.bind(record.bytes, at: 6)
        guard try insert.runUnlessRefused() else { throw StatementObstacle.sameIdentity }
    }

    /// The transaction that wrote some columns of a row last, or inserted it; nil: it is older than
    /// history.
    private func date(of columns: [Int], at key: RowKey) -> Dot? {
        let dates = consolidation.dates
        return columns.isEmpty ? dates.inserted[key] : dates.lastWrite(to: columns, of: key)
    }

    /// The position of a transaction in the merge order; nil: that of the older rows.
    private func position(of dot: Dot?) -> Int64 {
        dot.map { positions[$0.number] ?? 0 } ?? older.place
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

    private func store(_ row: [Value], at key: RowKey, uid: ObjectUID) throws {
        let entity = storage.schema.merge.entities[key.entity]
        let fields = try identities.fields(of: row, entity: key.entity)
        let refused = RefusedRow(row, as: fields, of: key.entity, in: storage.schema)
        if let refused { throw refused.error }
        var place = Int64(0)
        let record = objects.record(of: uid, entity: key.entity, fields: fields.stated) { columns in
            let dot = date(of: columns, at: key)
            place = max(place, position(of: dot))
            return dot ?? older.dot
        }
        guard let record else { throw StatementObstacle.changedValue }
        var object = StoredObject(
            record: record, key: key.values, number: nil, state: .plain, place: place)
        if entity.isPrivate, case .integer(let number) = key.values[0] { object.number = number }
        guard try storage.objects.insert(object, uid: uid) else {
            throw StatementObstacle.sameIdentity
        }
    }
}
