import SyncMerge
import SyncValues

/// Records, as bytes.
extension LocalLane {
    /// Writes the record of a known object with new versions of some cells.
    /// - Returns: the position of the newest transaction among these.
    func appendChanged(_ cells: PositionSet, of row: Int) -> Int {
        record.removeAll()
        dots.removeAll(keepingCapacity: true)
        var newest = 0
        var form = RecordForm(
            .created, incarnation: parsed.lifeIncarnation, by: parsed.lifeDot)
        for (cell, known) in parsed.cells.enumerated() {
            var dot = known.dot
            if cells.contains(cell) {
                let writer = writes.writer(of: cell, row: row) ?? recording.headers.count - 1
                newest = max(newest, writer)
                dot = self.dot(of: writer)
            }
            dots.append(dot)
            form.add(dot, incarnation: known.incarnation, of: cell)
        }
        form.appendHead(cellCount: dots.count, to: &record)
        var start = 0
        for (cell, dot) in dots.enumerated() {
            form.appendVersion(dot, incarnation: parsed.lifeIncarnation, to: &record)
            if cells.contains(cell) {
                shown.append(start..<shown.ends[cell], to: &record)
            } else {
                appendStored(parsed.cells[cell])
            }
            start = shown.ends[cell]
        }
        return newest
    }

    /// Writes the record of a known object that has ended.
    func appendDeleted(by deleter: Int) {
        record.removeAll()
        let form = RecordForm(
            .deleted, incarnation: parsed.lifeIncarnation, by: dot(of: deleter))
        form.appendHead(cellCount: parsed.cells.count, to: &record)
        for known in parsed.cells {
            form.appendVersion(known.dot, incarnation: known.incarnation, to: &record)
            appendStored(known)
        }
    }

    /// Writes the record of a new object.
    /// - Returns: the position of the newest transaction in it.
    func appendNew(_ row: Int, _ entity: StatedEntity) -> Int {
        appendLife(1, of: row, entity, after: nil)
    }

    /// Writes the record of a known object whose row was deleted and inserted again. A transaction
    /// that did both states both.
    /// - Returns: the position of the newest transaction among these.
    func appendRecreated(_ row: Int, _ entity: StatedEntity) -> Int {
        let deleter = writes.deleter(of: row)
        let end = deleter == writes.inserter(of: row) ? deleter : nil
        return appendLife(parsed.lifeIncarnation + 1, of: row, entity, after: end)
    }

    /// Writes a life that a row begins, and all its cells.
    /// - Parameter deleter: the transaction that ended the life before it; nil: it is not stated.
    private func appendLife(
        _ incarnation: Int, of row: Int, _ entity: StatedEntity, after deleter: Int?
    ) -> Int {
        record.removeAll()
        dots.removeAll(keepingCapacity: true)
        var newest = writes.inserter(of: row) ?? recording.headers.count - 1
        var form = RecordForm(.created, incarnation: incarnation, by: dot(of: newest))
        for cell in entity.cells.indices {
            let writer = writes.writer(of: cell, row: row) ?? newest
            newest = max(newest, writer)
            dots.append(dot(of: writer))
            form.add(dots[cell], incarnation: incarnation, of: cell)
        }
        if let deleter {
            let end = RecordForm(
                .deleted, incarnation: parsed.lifeIncarnation, by: dot(of: deleter))
            form.appendHead(after: end, cellCount: dots.count, to: &record)
        } else {
            form.appendHead(cellCount: dots.count, to: &record)
        }
        shown.append(to: &record, dots, in: form, incarnation: incarnation)
        return newest
    }

    private func appendStored(_ cell: LaneRecord.Cell) {
        stored.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[cell.fields..<cell.end]))
        }
    }

    private func dot(of writer: Int) -> RecordDot {
        RecordDot(replica: replica, number: recording.headers[writer].dot.number)
    }
}
