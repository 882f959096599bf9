import SyncMerge
import SyncValues

/// `syncd_object.record`: the facts of one object, as bytes. A replica is named by its number in
/// `syncd_replica`.
///
/// Life facts (count; kind, incarnation, dot), then the number of the entity's cells, and for each
/// of them its versions (count; dot, incarnation, one field per column). A field is a value; or 5,
/// an identity and the number of its key column; or 6, where the version states other columns
/// alone.
///
/// A record is *compact* if it has one life fact, the object's first creation, and one version of
/// each cell, all of incarnation 1, and if no cell after the 62nd has another dot than the
/// creation: 1; a varint, 3 plus 4 times the mask of the cells whose dot differs; the dot of the
/// creation; then for each cell its dot, where its bit is set, and its fields. No kind of life fact
/// has both of the lowest bits, so the second byte tells the forms apart. Both are read: earlier
/// versions wrote the long form alone.
enum RecordCoding {
    static let referenceTag: UInt8 = 5
    /// Of a column that a version says nothing about.
    static let unstatedTag: UInt8 = 6

    /// - Throws: SQLite errors: a replica may be new.
    /// - Complexity: O(facts)
    static func encode(_ record: ObjectRecord, replicas: ReplicaNames) throws -> [UInt8] {
        var writer = ByteWriter()
        if record.life.count == 1, record.cells.allSatisfy({ $0.count == 1 }) {
            try append(singleVersions: record, of: record.life[0], to: &writer, replicas)
            return writer.bytes
        }
        writer.append(varint: UInt64(record.life.count))
        for life in record.life {
            writer.append(byte: life.kind.rawValue)
            writer.append(varint: UInt64(life.incarnation))
            try append(life.dot, to: &writer, replicas: replicas)
        }
        writer.append(varint: UInt64(record.cells.count))
        for versions in record.cells {
            writer.append(varint: UInt64(versions.count))
            for version in versions {
                try append(version.dot, to: &writer, replicas: replicas)
                writer.append(varint: UInt64(version.incarnation))
                for field in version.value { append(field, to: &writer) }
            }
        }
        return writer.bytes
    }

    private static func append(
        singleVersions record: ObjectRecord, of life: Life, to writer: inout ByteWriter,
        _ replicas: ReplicaNames
    ) throws {
        func stored(_ dot: Dot) throws -> RecordDot {
            RecordDot(replica: try replicas.number(of: dot.replica), number: dot.number)
        }
        let created = try stored(life.dot)
        func dot(of version: Version) throws -> RecordDot {
            version.dot == life.dot ? created : try stored(version.dot)
        }
        var form = RecordForm(life.kind, incarnation: life.incarnation, by: created)
        for (cell, versions) in record.cells.enumerated() {
            form.add(
                try dot(of: versions[0]), incarnation: versions[0].incarnation, of: cell)
        }
        form.appendHead(cellCount: record.cells.count, to: &writer)
        for versions in record.cells {
            form.appendVersion(
                try dot(of: versions[0]), incarnation: versions[0].incarnation, to: &writer)
            for field in versions[0].value { append(field, to: &writer) }
        }
    }

    /// - Parameter widths: the number of columns of each cell.
    /// - Throws: `badData` for bytes that are no record; `corrupt` for an unknown replica.
    /// - Complexity: O(facts)
    static func decode(
        _ bytes: [UInt8], entity: Int, widths: [Int], replicas: ReplicaNames
    ) throws -> ObjectRecord {
        var reader = ByteReader(bytes)
        var record = ObjectRecord(entity: entity, cellCount: widths.count)
        let lifeCount = try reader.countOfRest(atMost: bytes.count)
        if lifeCount == 1 {
            var compact = reader
            let head = try compact.varint()
            if head & RecordForm.mark == RecordForm.mark {
                try decode(&compact, mask: head >> 2, into: &record, widths, replicas)
                return record
            }
        }
        for _ in 0..<lifeCount {
            guard let kind = LifeKind(rawValue: try reader.byte()) else {
                throw SyncError(.badData, "an object's record has an unknown life fact")
            }
            let incarnation = try reader.count(atMost: Life.incarnationMax)
            let dot = try dot(from: &reader, replicas: replicas)
            record.life.append(Life(dot, kind: kind, incarnation: incarnation))
        }
        guard try reader.varint() == UInt64(widths.count) else { throw otherCells }
        for (cell, width) in widths.enumerated() {
            for _ in 0..<(try reader.countOfRest(atMost: bytes.count)) {
                let dot = try dot(from: &reader, replicas: replicas)
                let incarnation = try reader.count(atMost: Life.incarnationMax)
                let value = try (0..<width).map { _ in try field(from: &reader) }
                record.cells[cell].append(
                    Version(dot, incarnation: incarnation, value: value))
            }
        }
        return record
    }

    private static let otherCells = SyncError(
        .badData, "an object's record has other cells than its entity")

    /// Reads what follows the mask of a compact record.
    private static func decode(
        _ reader: inout ByteReader, mask: UInt64, into record: inout ObjectRecord, _ widths: [Int],
        _ replicas: ReplicaNames
    ) throws {
        guard widths.count >= RecordForm.maskedCellsMax || mask >> UInt64(widths.count) == 0 else {
            throw otherCells
        }
        let created = try dot(from: &reader, replicas: replicas)
        record.life = [Life(created, kind: .created, incarnation: 1)]
        for (cell, width) in widths.enumerated() {
            let isOther = cell < RecordForm.maskedCellsMax && mask >> UInt64(cell) & 1 != 0
            let dot = isOther ? try dot(from: &reader, replicas: replicas) : created
            let value = try (0..<width).map { _ in try field(from: &reader) }
            record.cells[cell] = [Version(dot, incarnation: 1, value: value)]
        }
        guard reader.isAtEnd else { throw otherCells }
    }

    static func append(
        _ dot: Dot, to writer: inout ByteWriter, replicas: ReplicaNames
    ) throws {
        writer.append(varint: UInt64(try replicas.number(of: dot.replica)))
        writer.append(varint: UInt64(bitPattern: dot.number))
    }

    static func dot(from reader: inout ByteReader, replicas: ReplicaNames) throws -> Dot {
        let replica = try replicas.name(of: Int64(truncatingIfNeeded: try reader.varint()))
        return Dot(replica, Int64(truncatingIfNeeded: try reader.varint()))
    }

    static func append(_ field: Field, to writer: inout ByteWriter) {
        switch field {
        case .value(let value): writer.append(value)
        case .reference(let uid, let part):
            writer.append(byte: referenceTag)
            writer.append(uid)
            writer.append(varint: UInt64(part))
        case .unstated: writer.append(byte: unstatedTag)
        }
    }

    /// Whether two lists of fields are equal: most of different bytes are not, but two reals, 0 and
    /// -0, may be.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) throws -> Bool {
        if left == right { return true }
        guard left.contains(2), right.contains(2) else { return false }
        var (left, right) = (ByteReader(left), ByteReader(right))
        while !left.isAtEnd, !right.isAtEnd {
            guard try field(from: &left) == field(from: &right) else { return false }
        }
        return left.isAtEnd && right.isAtEnd
    }

    static func field(from reader: inout ByteReader) throws -> Field {
        let tag = try reader.byte()
        if tag == unstatedTag { return .unstated }
        guard tag == referenceTag else { return .value(try reader.value(tag: tag)) }
        let uid = try reader.identifier(ObjectUID.self)
        return .reference(uid, part: try reader.count(atMost: BatchLimits.entitiesMax))
    }
}
