import SyncMerge
import SyncValues

/// The hash of the facts in a record's bytes, as ``SyncMerge/FactItems/facts(_:_:)`` has it of the
/// facts themselves.
///
/// One is used for many records: nothing is allocated for those of most rows.
struct LaneItem {
    private let replicas: ReplicaNames
    private let items: FactItems
    /// By entity: the number of columns of each cell.
    private let widths: [[Int]]
    private var record = LaneRecord()
    /// The versions of a cell, where they are put together.
    private var versions: [Range<Int>] = []
    /// The replica that was asked for last: nearly always the next one, too.
    private var replica: (number: Int64, id: ReplicaID)?

    init(_ storage: ReplicaStorage) {
        replicas = storage.replicas
        items = storage.totals.items
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
    }

    /// - Throws: `corrupt`, `badData` for bytes that are no record.
    /// - Complexity: O(bytes)
    mutating func hash(
        _ bytes: UnsafeRawBufferPointer, of uid: ObjectUID, entity position: Int
    ) throws -> UInt128 {
        guard record.read(bytes, widths: widths[position]), record.lifeCount == 1,
            record.lifeKind == LifeKind.created.rawValue
        else {
            let record = try RecordCoding.decode(
                Array(bytes), entity: position, widths: widths[position], replicas: replicas)
            return items.facts(uid, record)
        }
        let entity = items.entity(position)
        // What is written beside the fields: the object, and a name and a number for each version.
        let countMax =
            bytes.count + 64 + entity.columns.count * 32
            + record.versionCount * entity.widthMax * 48
        return try withUnsafeTemporaryAllocation(byteCount: countMax, alignment: 8) { memory in
            var item = ItemWriter(memory)
            item.append(byte: 1)
            item.append(uid.high)
            item.append(uid.low)
            item.append(entity.name)
            item.append(varint: 1)
            item.append(byte: record.lifeKind)
            item.append(varint: UInt64(record.lifeIncarnation))
            try append(record.lifeDot, to: &item)
            // Neither is retained for each cell.
            let spans = record.cells
            try spans.withUnsafeBufferPointer { spans in
                try entity.columns.withUnsafeBufferPointer { columns in
                    for column in columns {
                        let span = spans[column.cell]
                        guard column.isPlain, span.count == 1 else {
                            try append(column, span, of: position, bytes, to: &item)
                            continue
                        }
                        // A value that is its default.
                        if bytes[span.fields] == 0 { continue }
                        item.append(column.name)
                        item.append(varint: 1)
                        try append(span.dot, to: &item)
                        item.append(varint: UInt64(span.incarnation))
                        item.append(UnsafeRawBufferPointer(rebasing: bytes[span.fields..<span.end]))
                    }
                }
            }
            return items.hash(ofItem: item.bytes)
        }
    }

    private mutating func append(
        _ column: FactItems.Entity.Column, _ span: LaneRecord.Cell, of entity: Int,
        _ bytes: UnsafeRawBufferPointer, to item: inout ItemWriter
    ) throws {
        let width = widths[entity][column.cell]
        guard span.count == 1 else {
            return try appendVersions(column, span, width: width, bytes, to: &item)
        }
        var cursor = ByteCursor(bytes, at: span.fields)
        let field = cursor.field(column.place, of: width)
        if try !isStated(bytes, field, of: column) { return }
        item.append(column.name)
        item.append(varint: 1)
        try append(span.dot, to: &item)
        item.append(varint: UInt64(span.incarnation))
        item.append(UnsafeRawBufferPointer(rebasing: bytes[field]))
    }

    /// The versions of a cell that has none, or several: in the order of their bytes.
    private mutating func appendVersions(
        _ column: FactItems.Entity.Column, _ span: LaneRecord.Cell, width: Int,
        _ bytes: UnsafeRawBufferPointer, to item: inout ItemWriter
    ) throws {
        var cursor = ByteCursor(bytes, at: span.start)
        let versionCount = cursor.count()
        let countMax = span.end - span.start + versionCount * 48
        try withUnsafeTemporaryAllocation(byteCount: countMax, alignment: 8) { memory in
            var written = ItemWriter(memory)
            versions.removeAll(keepingCapacity: true)
            for _ in 0..<versionCount {
                let (dot, incarnation) = cursor.version()
                let field = cursor.field(column.place, of: width)
                if try !isStated(bytes, field, of: column) { continue }
                let first = written.bytes.count
                try append(dot, to: &written)
                written.append(varint: UInt64(truncatingIfNeeded: incarnation))
                written.append(UnsafeRawBufferPointer(rebasing: bytes[field]))
                versions.append(first..<written.bytes.count)
            }
            if versions.isEmpty { return }
            item.append(column.name)
            item.append(varint: UInt64(versions.count))
            if versions.count == 1 { return item.append(written.bytes) }
            versions.sort { written.bytes[$0].lexicographicallyPrecedes(written.bytes[$1]) }
            for version in versions {
                item.append(varint: UInt64(version.count))
                item.append(UnsafeRawBufferPointer(rebasing: written.bytes[version]))
            }
        }
    }

    /// Whether a field says something else of its column than the default.
    private func isStated(
        _ bytes: UnsafeRawBufferPointer, _ field: Range<Int>, of column: FactItems.Entity.Column
    ) throws -> Bool {
        let tag = bytes[field.lowerBound]
        if tag == RecordCoding.unstatedTag { return false }
        // Nearly all defaults are NULL, and nearly all values are not.
        let (isNull, isDefaultNull) = (tag == 0, column.defaultField.isNull)
        if isNull || isDefaultNull { return isNull != isDefaultNull }
        var reader = ByteReader(Array(bytes[field]))
        return try RecordCoding.field(from: &reader) != column.defaultField
    }

    private mutating func append(_ dot: RecordDot, to item: inout ItemWriter) throws {
        let id: ReplicaID
        if let replica, replica.number == dot.replica {
            id = replica.id
        } else {
            id = try replicas.name(of: dot.replica)
            replica = (dot.replica, id)
        }
        item.append(id.high)
        item.append(id.low)
        item.append(UInt64(bitPattern: dot.number))
    }
}

/// Puts bytes together in memory that has room for all of them.
private struct ItemWriter {
    private let memory: UnsafeMutableRawBufferPointer
    private var count = 0

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    mutating func append(byte: UInt8) {
        memory[count] = byte
        count += 1
    }

    /// Eight bytes, most significant first.
    mutating func append(_ word: UInt64) {
        precondition(count + 8 <= memory.count)
        memory.storeBytes(of: word.bigEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(byte: UInt8(rest))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= memory.count - count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }
}

extension ByteCursor {
    /// Skips the fields of a version.
    /// - Returns: where one of them is.
    fileprivate mutating func field(_ place: Int, of width: Int) -> Range<Int> {
        var found = position..<position
        for other in 0..<width {
            let start = position
            _ = skipField()
            if other == place { found = start..<position }
        }
        return found
    }
}
