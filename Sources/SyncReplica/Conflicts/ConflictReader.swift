import SyncCore
import SyncMerge
import SyncValues

/// Reads the conflict log for people: with keys in place of identities, and with authors.
struct ConflictReader {
    private let storage: ReplicaStorage
    private let writers: Writers

    init(_ storage: ReplicaStorage) {
        self.storage = storage
        writers = Writers(storage)
    }

    /// The conflicts, oldest first.
    /// - Parameter open: true: the open ones; false: the closed ones; nil: all.
    /// - Throws: SQLite errors; `corrupt`, `badData` for rows that cannot be read.
    /// - Complexity: O(conflicts)
    func conflicts(open: Bool?) throws -> [ConflictRecord] {
        try storage.conflicts.rows(open: open).map(record)
    }

    private func record(_ row: ConflictStorage.Row) throws -> ConflictRecord {
        let identities = ConflictStorage.columns(from: row.columnNames)
        let columns = identities.map { storage.schema.names.title(ofColumn: $0, of: row.entity) }
        let object = try storage.objects.object(row.version.object)
        let title = storage.schema.names.title(ofEntity: row.entity)
        let presence =
            storage.schema.position(of: title) == nil
            ? .noTable : try presence(of: row.version.object, object)
        // An object that is shown in the row of another one: the log has the key of that row.
        let isPart = presence == .shown && object?.key == nil
        let key =
            try (isPart ? StoredKey.key(from: row.key) : nil)
            ?? lastKey(of: row.version.object, logged: row.key)
        let met = try row.metValue.map { try values($0, of: columns) } ?? NamedValues([])
        let now =
            try presence == .deleted
            ? nil
            : key.map {
                try present(identities, entity: row.entity, key: $0)
            }
        let shown = row.isOpen ? now ?? NamedValues([]) : met
        // A row that outlives its delete shows no fact instead of it.
        let isRevived = row.version.cell == VersionID.life
        let losing = try values(row.value, of: columns)
        // A version of a part of the cell is in conflict about the columns that it states.
        let isPartial = !losing.pairs.isEmpty && losing.pairs.count < columns.count
        let properties = isPartial ? losing.pairs.map(\.name) : columns
        func restricted(_ values: NamedValues) -> NamedValues {
            isPartial ? NamedValues(values.pairs.filter { properties.contains($0.name) }) : values
        }
        return ConflictRecord(
            id: row.id, entity: title,
            key: key.flatMap { $0.isEmpty ? nil : ObjectKey($0) }, properties: properties,
            reason: row.reason ?? .lost, presence: presence,
            wasDeleted: try wasDeleted(row.version.object),
            losing: try side(
                of: row.version.dot, values: losing, isDelete: isRevived),
            shown: try side(
                of: isRevived ? nil : row.met, values: restricted(shown),
                isDelete: !isRevived && shown.pairs.isEmpty),
            decision: row.isOpen
                ? nil : try decision(of: row, columns, record: object?.record, restricted),
            isOpen: row.isOpen)
    }

    /// Where an object is. A living one without a key of its own is a part of another object's row,
    /// unless its facts are in the log because it has none.
    private func presence(
        of uid: ObjectUID, _ object: StoredObject?
    ) throws -> ConflictRecord.Presence {
        guard let object else { return .deleted }
        if object.key != nil { return .shown }
        guard object.state == .unresolved, !object.record.life.isEmpty else { return .deleted }
        return try storage.conflicts.isHidden(uid) ? .notShown : .shown
    }

    private func decision(
        of row: ConflictStorage.Row, _ columns: [String], record: ObjectRecord?,
        _ restricted: (NamedValues) -> NamedValues
    ) throws -> ConflictRecord.Side? {
        guard row.closer != nil || row.closedValue != nil else { return nil }
        let value = try row.closedValue.map { try values($0, of: columns) } ?? NamedValues([])
        let life = record?.life.first { $0.dot == row.closer }
        return try side(
            of: row.closer, values: restricted(value),
            isDelete: life.map { $0.kind == .deleted } ?? (row.closedValue == nil))
    }

    /// The key of an object: of its row; of one without a row its private number, the key in the
    /// log, or the one that its facts have. Nil when none is known.
    /// - Parameter logged: ``ConflictStorage/Row/key``.
    /// - Throws: SQLite errors; `corrupt`.
    func lastKey(of uid: ObjectUID, logged: Value = .null) throws -> [Value]? {
        try storage.objects.keyOrNumber(of: uid) ?? StoredKey.key(from: logged)
            ?? recordedKey(of: uid)
    }

    private func wasDeleted(_ uid: ObjectUID) throws -> Bool {
        guard let life = try storage.objects.object(uid)?.record.life else { return true }
        // Without a life fact: the delete was collected before the edit came.
        return life.isEmpty || life.contains { $0.kind == .deleted }
    }

    /// The key of an object that has no row here, by its facts; nil for a private number, which an
    /// object has where it is shown.
    /// - Parameter depth: how many keys that refer to each other were followed; facts that were
    ///   merged may do so in a circle.
    private func recordedKey(of uid: ObjectUID, depth: Int = 0) throws -> [Value]? {
        guard depth <= storage.schema.tables.count,
            let record = try storage.objects.object(uid)?.record
        else { return nil }
        let entity = storage.schema.merge.entities[record.entity]
        var key: [Value] = []
        for column in entity.key {
            guard let cell = entity.cellOfColumn[column],
                let place = entity.cells[cell].firstIndex(of: column),
                let version = record.cells[cell].filter({ $0.value[place] != .unstated })
                    .max(by: { $0.dot < $1.dot })
            else { return nil }
            switch MergeState.decoded(version.value[place]) {
            case .unstated: return nil
            case .value(let value): key.append(value)
            case .reference(let target, let part):
                let parts =
                    try storage.objects.keyOrNumber(of: target)
                    ?? recordedKey(of: target, depth: depth + 1)
                guard let parts, parts.indices.contains(part) else { return nil }
                key.append(parts[part])
            }
        }
        return key
    }

    private func side(
        of dot: Dot?, values: NamedValues, isDelete: Bool
    ) throws -> ConflictRecord.Side {
        let writer = try dot.flatMap(writers.writer)
        return ConflictRecord.Side(
            values: values, isDelete: isDelete, author: writer?.author, time: writer?.time,
            replica: dot?.replica)
    }

    /// Authors and times of transactions, each read once.
    private final class Writers {
        private let headers: HeaderStorage
        private var known: [Dot: (author: String?, time: Timestamp)?] = [:]

        init(_ storage: ReplicaStorage) { headers = storage.headers }

        func writer(of dot: Dot) throws -> (author: String?, time: Timestamp)? {
            if let known = known[dot] { return known }
            let writer = try headers.details(dot).map { header, details in
                (
                    author: try HeaderDetails.author(details),
                    time: Timestamp(milliseconds: header.time.milliseconds)
                )
            }
            known[dot] = .some(writer)
            return writer
        }
    }

    /// The values of a version in the columns that it states, references as the keys that their
    /// targets have, or had last.
    private func values(_ bytes: [UInt8], of columns: [String]) throws -> NamedValues {
        var reader = ByteReader(bytes)
        return NamedValues(
            try columns.compactMap { name in
                switch try RecordCoding.field(from: &reader) {
                case .unstated: return nil
                case .value(let value): return .init(name: name, value: value)
                case .reference(let uid, let part):
                    let key = try lastKey(of: uid)
                    let value = key.flatMap { part < $0.count ? $0[part] : nil }
                    return .init(name: name, value: value ?? .null)
                }
            })
    }

    /// The values that the row has now; none where there is no row.
    /// - Parameters:
    ///   - columns: their identities.
    ///   - entity: its identity.
    private func present(
        _ columns: [String], entity: String, key: [Value]
    ) throws -> NamedValues {
        guard let position = storage.schema.position(ofEntity: entity) else {
            return NamedValues([])
        }
        let table = storage.schema.tables[position]
        let select = try storage.statements.statement(table.selectOne)
        select.bind(key)
        defer { select.reset() }
        guard key.count == table.key.count, try select.step() else { return NamedValues([]) }
        return NamedValues(
            columns.compactMap { identity in
                storage.schema.position(ofColumn: identity, entity: position).map {
                    .init(name: table.columns[$0], value: select.value(Int32($0)))
                }
            })
    }
}
