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
            guard arrival.cells.contains(cell), let place = place(of: cell, arrival)
            else {
                append(
                    stored: parsed.cells[cell].start, parsed.cells[cell].end, of: arrival,
                    to: &record)
                continue
            }
            let kept = contest(about: cell, of: arrival)?.kept ?? 0..<0
            record.append(varint: UInt64(kept.count + 1))
            for version in keptVersions[kept] {
                records.withUnsafeBytes {
                    record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[version.bytes]))
                }
            }
            newest = max(newest, try append(transaction(of: place), to: &record))
            record.append(varint: UInt64(incarnation(of: place)))
            for column in entity.cells[cell].columns.indices {
                append(field(place, column), to: &record)
            }
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
        record.append(varint: UInt64(try number(of: dot.replica)))
        record.append(varint: UInt64(bitPattern: dot.number))
        return position(of: transaction)
    }

    func append(_ field: FieldPlace, to record: inout ByteWriter) {
        let word = word(field)
        switch tag(field) {
        case .null: record.append(byte: 0)
        case .integer:
            record.append(byte: 1)
            record.append(signed: Int64(bitPattern: word))
        case .real: record.append(.real(Double(bitPattern: word)))
        case .text: append(field, tag: 3, to: &record)
        case .blob: append(field, tag: 4, to: &record)
        case .reference:
            record.append(byte: RecordCoding.referenceTag)
            record.append(bigEndian: facts.objects[Int(word)].high)
            record.append(bigEndian: facts.objects[Int(word)].low)
            record.append(varint: UInt64(length(field)))
        }
    }

    private func append(_ field: FieldPlace, tag: UInt8, to record: inout ByteWriter) {
        record.append(byte: tag)
        record.append(varint: UInt64(length(field)))
        withBytes(field) { record.append(bytes: $0) }
    }
}
