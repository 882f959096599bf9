import SyncMerge
import SyncValues

/// Records, and the items of their facts, as bytes.
extension FastLane {
    /// Writes the record that an object has after the slice.
    /// - Returns: the position of the newest transaction in it.
    func write(_ arrival: Arrival, to record: inout ByteWriter) throws -> Int64 {
        guard let entity = lane.entities[arrival.entity] else { return 0 }
        var newest = Int64(0)
        if arrival.isContested {
            guard let joined = rivals?.state.objects[arrival.uid] else { return 0 }
            record.append(
                raw: try RecordCoding.encode(joined, replicas: storage.replicas))
            return position(ofRivals: arrival, in: joined)
        }
        if arrival.isNew {
            record.append(varint: 1)
            record.append(byte: LifeKind.created.rawValue)
            record.append(varint: 1)
            let transaction = facts.lives.transactions[Int(arrival.life)]
            newest = try append(transaction, to: &record)
            record.append(varint: UInt64(entity.cells.count))
        } else {
            let isRecord = records[arrival.record].withUnsafeBytes {
                parsed.read($0, widths: widths[arrival.entity])
            }
            guard isRecord else { return 0 }
            // The lives, and the count of the cells.
            append(stored: 0, parsed.cells.first?.start ?? 0, of: arrival, to: &record)
        }
        for cell in entity.cells.indices {
            guard arrival.cells >> UInt64(cell) & 1 == 1, let place = place(of: cell, arrival)
            else {
                append(
                    stored: parsed.cells[cell].start, parsed.cells[cell].end, of: arrival,
                    to: &record)
                continue
            }
            let versions = facts.versions[Int(place.group) - 2]
            let row = Int(place.row)
            record.append(varint: 1)
            newest = max(newest, try append(versions.transactions[row], to: &record))
            record.append(varint: UInt64(versions.incarnations[row]))
            for spans in versions.values { append(spans, row, to: &record) }
        }
        return newest
    }

    /// Copies a part of the stored record.
    private func append(
        stored start: Int, _ end: Int, of arrival: Arrival, to record: inout ByteWriter
    ) {
        let first = arrival.record.lowerBound
        records.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[first + start..<first + end]))
        }
    }

    private func append(_ transaction: Int32, to record: inout ByteWriter) throws -> Int64 {
        let dot = header(transaction).dot
        record.append(varint: UInt64(try storage.replicas.number(of: dot.replica)))
        record.append(varint: UInt64(bitPattern: dot.number))
        return position(of: transaction)
    }

    private func append(_ spans: ValueSpans, _ row: Int, to record: inout ByteWriter) {
        let word = spans.words[row]
        switch spans.tags[row] {
        case .null: record.append(byte: 0)
        case .integer:
            record.append(byte: 1)
            record.append(signed: Int64(bitPattern: word))
        case .real: record.append(.real(Double(bitPattern: word)))
        case .text, .blob:
            record.append(byte: spans.tags[row] == .text ? 3 : 4)
            let (start, count) = (Int(word), Int(spans.lengths[row]))
            record.append(varint: UInt64(count))
            spans.bytes.withUnsafeBytes {
                record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
            }
        case .reference:
            record.append(byte: RecordCoding.referenceTag)
            record.append(bigEndian: facts.objects[Int(word)].high)
            record.append(bigEndian: facts.objects[Int(word)].low)
            record.append(varint: UInt64(spans.lengths[row]))
        }
    }

    /// The hash of the facts in a record, as ``FactItems`` has it.
    func item(
        _ bytes: UnsafeRawBufferPointer, of arrival: Arrival, _ item: inout ByteWriter
    ) throws -> UInt128 {
        guard parsed.read(bytes, widths: widths[arrival.entity]) else { return 0 }
        let entity = storage.totals.items.entity(arrival.entity)
        let isPlain = parsed.lifeCount == 1 && parsed.cells.allSatisfy { $0.count <= 1 }
        guard isPlain else {
            let record = try RecordCoding.decode(
                Array(bytes), entity: arrival.entity, widths: widths[arrival.entity],
                replicas: storage.replicas)
            return storage.totals.items.facts(arrival.uid, record)
        }
        item.removeAll()
        item.append(byte: 1)
        item.append(bigEndian: arrival.uid.high)
        item.append(bigEndian: arrival.uid.low)
        item.append(bigEndian: entity.name)
        item.append(varint: 1)
        item.append(byte: parsed.lifeKind)
        item.append(varint: UInt64(parsed.lifeIncarnation))
        try append(parsed.lifeName, to: &item)
        for cell in entity.cellOrder where parsed.cells[cell].count == 1 {
            let span = parsed.cells[cell]
            guard
                try !isDefault(
                    bytes, from: span.fields, to: span.end, entity.defaults[cell])
            else { continue }
            item.append(bigEndian: entity.cells[cell])
            item.append(varint: 1)
            try append(span.name, to: &item)
            item.append(varint: UInt64(span.incarnation))
            let order = entity.orders[cell]
            if order.count == 1 {
                item.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[span.fields..<span.end]))
                continue
            }
            var cursor = ByteCursor(bytes, at: span.fields)
            let fields = order.indices.map { _ in
                let start = cursor.position
                _ = cursor.skipField()
                return start..<cursor.position
            }
            for place in order {
                item.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[fields[place]]))
            }
        }
        return storage.totals.items.hash(ofItem: item.bytes)
    }

    private func isDefault(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int, _ defaults: [Field]
    ) throws -> Bool {
        // Nearly all defaults are NULL.
        if defaults.count == 1, defaults[0].isNull { return bytes[start] == 0 }
        var reader = ByteReader(Array(bytes[start..<end]))
        return try defaults.map { _ in try RecordCoding.field(from: &reader) } == defaults
    }

    private func append(_ name: LaneRecord.Name, to item: inout ByteWriter) throws {
        let replica = try replica(name.replica)
        item.append(bigEndian: replica.high)
        item.append(bigEndian: replica.low)
        item.append(bigEndian: UInt64(bitPattern: name.number))
    }
}
