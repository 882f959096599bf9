import SyncMerge
import SyncValues

/// The hash of the facts in a record's bytes, as ``SyncMerge/FactItems/facts(_:_:)`` has it of the
/// facts themselves.
///
/// One is used for many records, so that its memory is allocated once.
struct LaneItem {
    private let storage: ReplicaStorage
    /// By entity: the number of columns of each cell.
    private let widths: [[Int]]
    private var record = LaneRecord()
    private var item = ByteWriter()

    init(_ storage: ReplicaStorage) {
        self.storage = storage
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
    }

    /// - Throws: `corrupt`, `badData` for bytes that are no record.
    /// - Complexity: O(bytes)
    mutating func hash(
        _ bytes: UnsafeRawBufferPointer, of uid: ObjectUID, entity position: Int
    ) throws -> UInt128 {
        let isPlain =
            record.read(bytes, widths: widths[position]) && record.lifeCount == 1
            && record.lifeKind == LifeKind.created.rawValue
            && record.cells.allSatisfy { $0.count <= 1 }
        guard isPlain else {
            let record = try RecordCoding.decode(
                Array(bytes), entity: position, widths: widths[position],
                replicas: storage.replicas)
            return storage.totals.items.facts(uid, record)
        }
        let entity = storage.totals.items.entity(position)
        item.removeAll()
        item.append(byte: 1)
        item.append(bigEndian: uid.high)
        item.append(bigEndian: uid.low)
        item.append(bigEndian: entity.name)
        item.append(varint: 1)
        item.append(byte: record.lifeKind)
        item.append(varint: UInt64(record.lifeIncarnation))
        try append(record.lifeName)
        for cell in entity.cellOrder where record.cells[cell].count == 1 {
            try append(cell, of: entity, bytes)
        }
        return storage.totals.items.hash(ofItem: item.bytes)
    }

    private mutating func append(
        _ cell: Int, of entity: FactItems.Entity, _ bytes: UnsafeRawBufferPointer
    ) throws {
        let span = record.cells[cell]
        let fields = UnsafeRawBufferPointer(rebasing: bytes[span.fields..<span.end])
        if try isDefault(fields, entity.defaults[cell]) { return }
        item.append(bigEndian: entity.cells[cell])
        item.append(varint: 1)
        try append(span.name)
        item.append(varint: UInt64(span.incarnation))
        let order = entity.orders[cell]
        guard order.count > 1 else { return item.append(bytes: fields) }
        var cursor = ByteCursor(fields)
        let parts = order.indices.map { _ in
            let start = cursor.position
            _ = cursor.skipField()
            return start..<cursor.position
        }
        for place in order {
            item.append(bytes: UnsafeRawBufferPointer(rebasing: fields[parts[place]]))
        }
    }

    private func isDefault(
        _ fields: UnsafeRawBufferPointer, _ defaults: [Field]
    ) throws -> Bool {
        // Nearly all defaults are NULL.
        if defaults.count == 1, defaults[0].isNull { return fields[0] == 0 }
        var reader = ByteReader(Array(fields))
        return try defaults.map { _ in try RecordCoding.field(from: &reader) } == defaults
    }

    private mutating func append(_ name: LaneRecord.Name) throws {
        let replica = try storage.replicas.name(of: name.replica)
        item.append(bigEndian: replica.high)
        item.append(bigEndian: replica.low)
        item.append(bigEndian: UInt64(bitPattern: name.number))
    }
}
