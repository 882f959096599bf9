import SyncMerge
import SyncStorage
import SyncValues

/// Rows as a record has them, and how they differ from it.
extension LocalLane {
    /// Reads the row of a key, cell by cell as a record has it, into `fields`.
    func read(_ key: [Value], _ entity: StatedEntity) throws {
        let select = try objects.row(of: entity)
        select.bind(key)
        defer { select.reset() }
        guard try select.step() else { throw LocalLaneReason.incomplete }
        // When it was logged the column may have had another type.
        guard
            zip(entity.key, key).allSatisfy({ column, value in
                select.value(Int32(column)) == value
            })
        else { throw LocalLaneReason.key }
        if entity.mayRefuse { try requireAccepted(select, entity) }
        let uids = try targets(of: select, entity)
        fields.removeAll()
        ends.removeAll(keepingCapacity: true)
        for columns in entity.cells {
            for column in columns {
                if let part = entity.parts[column], let uid = uids[part.reference] {
                    fields.append(byte: RecordCoding.referenceTag)
                    fields.append(bigEndian: uid.high)
                    fields.append(bigEndian: uid.low)
                    fields.append(varint: UInt64(part.part))
                    continue
                }
                let start = fields.bytes.count
                select.append(Int32(column), to: &fields)
                // A blob that begins as a state does is stored otherwise.
                if fields.bytes[start] == 4, isEscaped(from: start) { throw LocalLaneReason.value }
            }
            ends.append(fields.bytes.count)
        }
    }

    /// Checks that there is no row of a key, and none that refers to it.
    /// - Complexity: a look-up for each reference to the table, O(rows) where it has no index
    func requireGone(_ key: [Value], _ entity: StatedEntity) throws {
        let row = try objects.row(of: entity)
        row.bind(key)
        defer { row.reset() }
        guard try !row.step() else { throw LocalLaneReason.incomplete }
        for sql in entity.selectReferrers {
            let referrers = try storage.statements.statement(sql)
            referrers.bind(key)
            defer { referrers.reset() }
            guard try !referrers.step() else { throw LocalLaneReason.delete }
        }
    }

    /// Whether the blob in `fields` is stored escaped.
    func isEscaped(from start: Int) -> Bool {
        var cursor = start + 1
        while fields.bytes[cursor] >= 0x80 { cursor += 1 }
        return fields.bytes.withUnsafeBytes {
            BlendCoding.escapes(UnsafeRawBufferPointer(rebasing: $0[(cursor + 1)...]))
        }
    }

    func requireAccepted(_ row: Statement, _ entity: StatedEntity) throws {
        var values = entity.table.columns.indices.map { Field.value(row.value(Int32($0))) }
        if entity.isPrivate { values[entity.key[0]] = .value(.null) }
        guard !storage.schema.merge.entities[entity.position].refuses(values) else {
            throw LocalLaneReason.refused
        }
    }

    /// What the references of a row lead to; nil: nothing.
    func targets(of row: Statement, _ entity: StatedEntity) throws -> [ObjectUID?] {
        if entity.references.isEmpty { return [] }
        return try entity.references.map { reference in
            let values = reference.columns.map { row.value(Int32($0)) }
            if values.contains(.null) { return nil }
            return try target(storage.schema.merge.key(reference.target, values), depth: 0)
        }
    }

    /// The cells that are to be stated, as bits: those that differ from the record.
    func changedCells(of row: Int, _ entity: StatedEntity) throws -> UInt64 {
        var changed = UInt64(0)
        var start = 0
        for cell in entity.cells.indices {
            defer { start = ends[cell] }
            if entity.blendingCells >> UInt64(cell) & 1 == 1 {
                if writes.isWritten(cell, row: row) { throw LocalLaneReason.policy }
                continue
            }
            if try isEqual(start..<ends[cell], to: parsed.cells[cell]) { continue }
            guard entity.keyCells >> UInt64(cell) & 1 == 0 else { throw LocalLaneReason.key }
            changed |= 1 << UInt64(cell)
        }
        return changed
    }

    func isEqual(_ range: Range<Int>, to cell: LaneRecord.Cell) throws -> Bool {
        let isSame = fields.bytes.withUnsafeBytes { new in
            stored.withUnsafeBytes { old in
                new[range].elementsEqual(old[cell.fields..<cell.end])
            }
        }
        // Two reals of different bytes may be equal: 0 and -0.
        if isSame || fields.bytes[range.lowerBound] != 2 && range.count <= 9 { return isSame }
        return try RecordCoding.areEqual(
            Array(fields.bytes[range]), Array(stored[cell.fields..<cell.end]))
    }

    /// What an unresolved object names is not referred to, neither before nor after: whether it is
    /// shown may depend on that.
    func requireUntroubledTargets() throws {
        if surroundings.objects.isEmpty { return }
        for start in parsed.targets {
            guard let uid = ObjectUID(bytes: Array(stored[start..<start + 16])),
                !surroundings.objects.contains(uid)
            else { throw LocalLaneReason.trouble }
        }
    }
}
