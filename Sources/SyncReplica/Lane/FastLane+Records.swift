import SyncMerge
import SyncValues

/// Records, and the items of their facts, as bytes.
extension FastLane {
    /// What a cell of a record that is written has.
    struct WrittenCell {
        /// The version of the slice; nil: what is stored stays.
        let place: ArrivingFacts.Place?
        /// Of the version of the slice, or of the first one that is stored.
        let dot: RecordDot
    }

    /// Writes the record that an object has after the slice.
    /// - Returns: the position of the newest transaction in it.
    func write(_ arrival: Arrival, to record: inout ByteWriter) throws -> Int64 {
        guard let entity = lane.entities[arrival.entity] else { return 0 }
        if arrival.isContested {
            guard let joined = rivals?.state.objects[arrival.uid] else { return 0 }
            record.append(
                raw: try RecordCoding.encode(joined, replicas: storage.replicas))
            return position(ofRivals: arrival, in: joined)
        }
        if !arrival.isNew {
            let isRecord = records[arrival.record].withUnsafeBytes {
                parsed.read($0, widths: widths[arrival.entity])
            }
            guard isRecord else { return 0 }
        }
        let (form, newest) = try collectCells(of: arrival, entity)
        form.appendHead(cellCount: entity.cells.count, to: &record)
        for (cell, source) in written.enumerated() {
            guard let place = source.place else {
                appendStored(cell, of: arrival, as: form, to: &record)
                continue
            }
            let incarnation = incarnation(of: place)
            if let contest = contest(about: cell, of: arrival) {
                record.append(varint: UInt64(contest.kept.count + 1))
                try appendKept(contest, to: &record)
                record.append(version: source.dot, incarnation: incarnation)
            } else {
                form.appendVersion(source.dot, incarnation: incarnation, to: &record)
            }
            for column in entity.cells[cell].columns.indices {
                append(field(place, column), to: &record)
            }
        }
        return newest
    }

    /// Puts the cells that an object has after the slice into ``written``.
    /// - Returns: the form of its record, and the position of the newest transaction in it that is
    ///   of the slice.
    private func collectCells(
        of arrival: Arrival, _ entity: LaneEntity
    ) throws -> (RecordForm, newest: Int64) {
        written.removeAll(keepingCapacity: true)
        var newest = Int64(0)
        var form: RecordForm
        if arrival.isNew {
            let transaction = facts.lives.transactions[Int(arrival.life)]
            newest = position(of: transaction)
            form = RecordForm(.created, incarnation: 1, by: try dot(of: transaction))
        } else {
            form = RecordForm(.created, incarnation: parsed.lifeIncarnation, by: parsed.lifeDot)
        }
        for cell in entity.cells.indices {
            guard arrival.cells.contains(cell), let place = place(of: cell, arrival) else {
                let known = parsed.cells[cell]
                written.append(WrittenCell(place: nil, dot: known.dot))
                if known.count == 1 {
                    form.add(known.dot, incarnation: known.incarnation, of: cell)
                } else {
                    form.addOther()
                }
                continue
            }
            let transaction = transaction(of: place)
            newest = max(newest, position(of: transaction))
            let dot = try dot(of: transaction)
            written.append(WrittenCell(place: place, dot: dot))
            if contest(about: cell, of: arrival) == nil {
                form.add(dot, incarnation: incarnation(of: place), of: cell)
            } else {
                form.addOther()
            }
        }
        return (form, newest)
    }

    /// Copies the versions of a cell from the stored record.
    private func appendStored(
        _ cell: Int, of arrival: Arrival, as form: RecordForm, to record: inout ByteWriter
    ) {
        let known = parsed.cells[cell]
        var start = known.start
        if known.count == 1 {
            form.appendVersion(known.dot, incarnation: known.incarnation, to: &record)
            start = known.fields
        }
        let first = arrival.record.lowerBound
        append(stored: first + start..<first + known.end, to: &record)
    }

    private func appendKept(_ contest: LaneContest, to record: inout ByteWriter) throws {
        for version in keptVersions[contest.kept] {
            record.append(
                version: try name(of: version.dot), incarnation: version.incarnation)
            append(stored: version.fields, to: &record)
        }
    }

    private func append(stored range: Range<Int>, to record: inout ByteWriter) {
        records.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[range]))
        }
    }

    private func dot(of transaction: Int32) throws -> RecordDot {
        try name(of: header(transaction).dot)
    }

    private func name(of dot: Dot) throws -> RecordDot {
        RecordDot(replica: try number(of: dot.replica), number: dot.number)
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
