import SyncMerge
import SyncValues

/// Records, as bytes.
extension LocalLane {
    /// Writes the record of a known object with new versions of some cells.
    /// - Returns: the position of the newest transaction among these.
    func appendChanged(_ cells: PositionSet, of row: Int) -> Int {
        record.removeAll()
        var newest = 0
        stored.withUnsafeBytes { stored in
            func copy(_ range: Range<Int>) {
                record.append(bytes: UnsafeRawBufferPointer(rebasing: stored[range]))
            }
            copy(0..<(parsed.cells.first?.start ?? stored.count))
            var start = 0
            for (cell, span) in parsed.cells.enumerated() {
                defer { start = shown.ends[cell] }
                guard cells.contains(cell) else {
                    copy(span.start..<span.end)
                    continue
                }
                let writer = writes.writer(of: cell, row: row) ?? recording.headers.count - 1
                newest = max(newest, writer)
                append(writer, incarnation: parsed.lifeIncarnation, start..<shown.ends[cell])
            }
        }
        return newest
    }

    /// Writes the record of a known object that has ended.
    func appendDeleted(by deleter: Int) {
        record.removeAll()
        record.append(varint: 1)
        append(.deleted, incarnation: parsed.lifeIncarnation, by: deleter)
        stored.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[parsed.cellsStart...]))
        }
    }

    /// Writes the record of a new object.
    /// - Returns: the position of the newest transaction in it.
    func appendNew(_ row: Int, _ entity: StatedEntity) -> Int {
        record.removeAll()
        record.append(varint: 1)
        return appendLife(1, of: row, entity)
    }

    /// Writes the record of a known object whose row was deleted and inserted again. A transaction
    /// that did both states both.
    /// - Returns: the position of the newest transaction among these.
    func appendRecreated(_ row: Int, _ entity: StatedEntity) -> Int {
        record.removeAll()
        if let deleter = writes.deleter(of: row), deleter == writes.inserter(of: row) {
            record.append(varint: 2)
            append(.deleted, incarnation: parsed.lifeIncarnation, by: deleter)
        } else {
            record.append(varint: 1)
        }
        return appendLife(parsed.lifeIncarnation + 1, of: row, entity)
    }

    private func append(_ kind: LifeKind, incarnation: Int, by writer: Int) {
        record.append(byte: kind.rawValue)
        record.append(varint: UInt64(incarnation))
        append(dot: writer)
    }

    /// Writes a life that a row begins, and all its cells.
    private func appendLife(_ incarnation: Int, of row: Int, _ entity: StatedEntity) -> Int {
        var newest = writes.inserter(of: row) ?? recording.headers.count - 1
        append(.created, incarnation: incarnation, by: newest)
        record.append(varint: UInt64(entity.cells.count))
        var start = 0
        for cell in entity.cells.indices {
            let writer = writes.writer(of: cell, row: row) ?? newest
            newest = max(newest, writer)
            append(writer, incarnation: incarnation, start..<shown.ends[cell])
            start = shown.ends[cell]
        }
        return newest
    }

    func append(_ writer: Int, incarnation: Int, _ range: Range<Int>) {
        record.append(varint: 1)
        append(dot: writer)
        record.append(varint: UInt64(incarnation))
        shown.fields.bytes.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[range]))
        }
    }

    func append(dot writer: Int) {
        record.append(varint: UInt64(replica))
        record.append(varint: UInt64(bitPattern: recording.headers[writer].dot.number))
    }
}
